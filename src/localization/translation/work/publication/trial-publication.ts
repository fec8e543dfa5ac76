/** What a comparison is recorded under while it lasts. No release has this name: a colon is in none. */
export const TRIAL_PUBLICATION = 'trial:';
