mod image;
mod model;
mod promises;
