//! Where frames go.
