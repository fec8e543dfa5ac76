/** Begins the id of every schedule of a ReleaseChannel. */
export const CONTROLLER_SCHEDULE_PREFIX = 'relch:';

/** Begins the id of every schedule of the daemon's configuration. */
export const CONFIGURED_SCHEDULE_PREFIX = 'configured:';
