//! The live page: HTTP over the library's door.
//!
//! A request becomes an answer by a function that reads the store and hands a result to the renderers of
//! `report` and `page`. So every view is a page of its own that needs no script; the script only follows what happens.
//! There is no SQL here, nothing is measured and no number is put into words. Who may ask is decided in one place, `guard`.

mod answer;
mod app;
mod assets;
mod documents;
mod events;
mod feed;
mod frame;
mod gauge;
mod guard;
mod hook;
mod launcher;
mod leases;
mod listener;
mod metrics;
mod openapi;
mod query;
mod request;
mod routes;
mod server;
mod sketch;
mod stores;
mod token;
mod views;

pub use app::Settings;
pub use documents::{
    CHANGE_SCHEMA, ChangeDocument, MACHINES_SCHEMA, MEASUREMENT_SCHEMA, MEASUREMENTS_SCHEMA,
    MachinesDocument, MeasurementDocument, MeasurementsDocument, PLAN_CELLS_SCHEMA, PLANS_SCHEMA,
    PlanCellsDocument, PlansDocument, REFUSAL_SCHEMA, RefusalDocument, STORED_SCHEMA,
    StoredDocument,
};
pub use hook::Hook;
pub use launcher::Program;
pub use openapi::document as openapi_document;
pub use routes::{ROUTES, Route};
pub use server::{Place, ServeError, Server};
pub use token::Token;
pub use views::api::{NOW_SCHEMA, NowDocument};
