import { instant } from '../../domain/instant.ts';
import { RENEWALS_PER_VALIDITY, type AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { MirrorError } from '../../mirror/mirror-error.ts';
import { UpstreamError } from '../../upstream/upstream.ts';

/** An origin that cannot be followed. Times are Unix seconds. */
export interface OriginTrouble {
  /** When the first of the polls began that failed in a row. */
  readonly since: number;
  /** The code of the last failure; `null` for one without. */
  readonly code: string | null;
  /** Until when the current official release is served without the origin; `null` when there is none. */
  readonly servedUntil: number | null;
}

/** Says what happens to an edge without its origin. It is public: no URL and no text of an error. */
export function describeTrouble({ since, code, servedUntil }: OriginTrouble, now: number): string {
  const what = `the origin has not been followed since ${instant(since)}${code === null ? '' : ` (${code})`}`;
  if (servedUntil === null) return `${what}, and there is no release to serve without it`;
  return servedUntil > now
    ? `${what}; its releases are served until ${instant(servedUntil)}`
    : `${what}; its releases have not been served since ${instant(servedUntil)}`;
}

/** The polls of an origin that fail in a row. */
export interface FailedPolls {
  message(): string | null;
  /**
   * The trouble, from the second failed poll on: a single one can be a restart of the origin. One that waited until its time was over has
   * lasted for longer than a restart.
   */
  trouble(): Pick<OriginTrouble, 'since' | 'code'> | null;
  /** @param beganAt when the poll began that failed, Unix seconds */
  note(error: unknown, beganAt: number): void;
  /** Whether they have lasted for long since they began, or since they were reported last. */
  isLong(): boolean;
  reported(): void;
  end(): void;
}

const LONG_MS = 30_000;
const NOTED_POLLS = 2;

export function createFailedPolls(clock: Clock): FailedPolls {
  let message: string | null = null;
  let code: string | null = null;
  let polls = 0;
  let since = 0;
  let reportedMs = 0;
  return {
    message: () => message,
    trouble: () => (polls < NOTED_POLLS ? null : { since, code }),
    note: (error, beganAt) => {
      if (message === null) {
        since = beganAt;
        reportedMs = clock.monotonic();
      }
      message = messageOf(error);
      code = error instanceof MirrorError || error instanceof UpstreamError ? error.code : null;
      polls += code === 'upstream_timeout' ? NOTED_POLLS : 1;
    },
    isLong: () => message !== null && clock.monotonic() - reportedMs >= LONG_MS,
    reported: () => {
      reportedMs = clock.monotonic();
    },
    end: () => {
      message = null;
      polls = 0;
    },
  };
}

/**
 * Warns of a limit that is shorter than the time between two attestations of the origin: the edge would stop serving in between.
 *
 * @returns `null` for a limit that is long enough
 */
export function describeShortAge(
  maxAgeSeconds: number,
  { issued_at: issuedAt, expires_at: expiresAt }: AttestationStatement,
): string | null {
  const renewal = Math.ceil((expiresAt - issuedAt) / RENEWALS_PER_VALIDITY);
  if (maxAgeSeconds > renewal) return null;
  return (
    `maxAttestationAgeSeconds is ${maxAgeSeconds}, and the origin signs an attestation about every ${renewal} seconds, so this ` +
    `edge stops serving in between; set it to more than ${renewal}`
  );
}
