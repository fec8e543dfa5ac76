/** The finder of damage on the server: a read for a client, the scrub, or the reader of a snapshot. */
export type DamageFinder = 'client' | 'scrub' | 'loading';
