import { DEMO_BLOCKED } from './demo-work.ts';

/**
 * The section `localized` for the demo releases. A release has texts that are translated, also without a review, and follows the
 * official one automatically. The file with the blocked unit stays official, because no release is published over a blocked unit.
 */
export const DEMO_LOCALIZED = {
  minState: 'translated',
  exclude: [DEMO_BLOCKED],
  minCoverage: 0.02,
  auto: true,
} as const;
