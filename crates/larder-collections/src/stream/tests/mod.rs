mod cold;
mod entries;
mod groups;
mod pending;
