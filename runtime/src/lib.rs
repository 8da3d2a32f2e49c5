//! What any controller needs: watch, queue, lease, apply sets, readiness, admission server.
