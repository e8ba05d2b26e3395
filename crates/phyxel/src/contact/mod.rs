//! Body against collider and body against body.
