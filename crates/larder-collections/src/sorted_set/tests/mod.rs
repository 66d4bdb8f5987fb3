mod model;
mod promises;
