import type { Clock } from './clock.ts';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;
/** Random bytes are drawn for this many ids in one call: a few cost as much as many. */
const DRAWN_IDS = 64;

/** Syntax of a request id from outside; logs and error bodies contain it unchanged. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

interface UlidDependencies {
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
}

/**
 * Makes a source of ULIDs: 26 characters that sort by the time they were made. Ids of one factory are strictly
 * increasing, also within one millisecond and when the wall clock is set back.
 *
 * Source: the ULID specification (github.com/ulid/spec), "Monotonicity".
 */
export function createUlidFactory({ clock, randomBytes }: UlidDependencies): () => string {
  let lastTime = -1;
  let digits: number[] = [];
  let drawn = new Uint8Array(0);
  let used = 0;
  const randomDigits = (): number[] => {
    if (used === drawn.length) {
      drawn = Uint8Array.from(randomBytes(RANDOM_DIGITS * DRAWN_IDS));
      used = 0;
    }
    used += RANDOM_DIGITS;
    return Array.from(drawn.subarray(used - RANDOM_DIGITS, used), (byte) => byte & 31);
  };
  return () => {
    const now = clock.now();
    if (now > lastTime) {
      lastTime = now;
      digits = randomDigits();
    } else if (!increment(digits)) {
      // 2^80 ids of one millisecond are used up: borrow the next one.
      lastTime += 1;
      digits = randomDigits();
    }
    let id = encodeTime(lastTime);
    for (const digit of digits) id += CROCKFORD.charAt(digit);
    return id;
  };
}

/**
 * The id of a request, in logs, error bodies and forwarded calls.
 *
 * @param received the `X-Request-Id` header, if any; kept when it is 8 to 64 harmless characters, so that an id from an
 *   ingress can be followed through
 */
export function requestId(received: string | readonly string[] | undefined, createId: () => string): string {
  return typeof received === 'string' && REQUEST_ID.test(received) ? received : createId();
}

/** Makes a source of span ids: 16 hexadecimal digits, not all zero. Source: W3C Trace Context, section 3.2.2.4. */
export function createSpanIds(randomBytes: UlidDependencies['randomBytes']): () => string {
  return () => {
    const bytes = randomBytes(8);
    return bytes.every((byte) => byte === 0) ? '0000000000000001' : Buffer.from(bytes).toString('hex');
  };
}

function increment(digits: number[]): boolean {
  for (let at = digits.length - 1; at >= 0; at -= 1) {
    const digit = digits[at] ?? 0;
    digits[at] = (digit + 1) & 31;
    if (digit < 31) return true;
  }
  return false;
}

function encodeTime(unixMs: number): string {
  let rest = Math.floor(unixMs);
  let text = '';
  for (let at = 0; at < TIME_DIGITS; at += 1) {
    text = CROCKFORD.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
