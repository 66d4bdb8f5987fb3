mod entries;
mod groups;
mod pending;
