/**
 * Longest lease of a worker and longest claim of a person, in seconds. A longer request is cut to it, so that units
 * that someone left behind are free again within a day.
 */
export const LONGEST_LEASE_SECONDS = 86_400;
