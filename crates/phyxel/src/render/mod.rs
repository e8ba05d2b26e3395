//! CPU splat renderer: frames to pictures and film.
