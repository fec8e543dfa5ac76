/**
 * Longest lease of a worker and longest claim of a person, in seconds. A longer one that is asked for counts as this, so that what
 * someone left behind is free again within a day.
 */
export const LONGEST_LEASE_SECONDS = 86_400;
