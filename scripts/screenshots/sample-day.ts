import type { Page } from 'playwright-core';
import type { AdminIndex } from '../../src/contract/schemas/answers/admin.ts';
import { HISTORY_MINUTES } from '../../src/contract/schemas/vocabulary.ts';

type History = AdminIndex['history'];
type State = NonNullable<History['states']['official'][number]>;

/** Requests of the quietest minute, and how many more there are at the height of the day. */
const REQUESTS = { least: 300, more: 2400 };
const BYTES_PER_REQUEST = 900_000;

/**
 * Gives the page a day of history. A server keeps its history in memory, and that of the pictures runs for seconds only; the
 * minutes that it has really recorded stay the last ones.
 */
export async function showSampleDay(page: Page): Promise<void> {
  await page.route('**/admin/', async (route) => {
    const response = await route.fetch();
    const index = (await response.json()) as AdminIndex;
    await route.fulfill({ response, json: { ...index, history: sampleDay(index.history) } });
  });
}

function sampleDay(recorded: History): History {
  const missing = HISTORY_MINUTES - recorded.requests.length;
  const minutes = Array.from({ length: missing }, (_, minute) => minute);
  const requests = minutes.map(requestsOf);
  return {
    server: 'slipway-0',
    from: recorded.from - missing * 60,
    requests,
    // The short outage of the official release.
    server_errors: minutes.map((minute) => (officialState(minute) === 'damaged' ? 40 : 0)),
    sent_bytes: requests.map((count) => count * BYTES_PER_REQUEST),
    states: { official: minutes.map(officialState), localized: minutes.map(localizedState) },
  };
}

/** A wave of a day with small, regular ripples. */
function requestsOf(minute: number): number {
  const day = (1 - Math.cos((2 * Math.PI * (minute - 120)) / HISTORY_MINUTES)) / 2;
  const ripple = (minute * 7919) % 97;
  return Math.round(REQUESTS.least + REQUESTS.more * day + ripple * 4);
}

function officialState(minute: number): State {
  if (minute >= 612 && minute < 615) return 'damaged';
  return minute >= 590 && minute < 640 ? 'degraded' : 'healthy';
}

/** Behind after the release of the morning, until it is published again. */
function localizedState(minute: number): State {
  return minute >= 900 && minute < 1010 ? 'stale' : 'healthy';
}
