import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';
import {
  CONDITION_MESSAGE_MAX,
  DAEMON_CONDITION_CODES,
  DAEMON_CONDITIONS_MAX,
  type DaemonCondition,
} from '../../domain/service-state/daemon-conditions.ts';

/** Headers of the answers to the poll for an attestation. The caller sends the tag back. */
export const CONDITION_HEADERS = {
  /** The conditions: {@link renderConditions}. */
  conditions: 'slipway-conditions',
  /** Names this state of the conditions; a poll that sends it waits until it changes. */
  tag: 'slipway-conditions-tag',
} as const;

/** Longest tag, characters. */
export const CONDITION_TAG_MAX = 80;

/** Longest value, characters: the head of an answer has at most 16 KiB. */
const HEADER_MAX = 8 * 1024;

const Instant = z.int().min(0).nullable();

const Condition = z.object({
  code: z.enum(DAEMON_CONDITION_CODES),
  channel: z.enum(CHANNELS).optional(),
  message: z.string().max(CONDITION_MESSAGE_MAX),
  since: Instant,
  next_try: Instant,
});

const Conditions = z.array(z.unknown()).max(DAEMON_CONDITIONS_MAX);

/**
 * Renders conditions as the value of a header: JSON, percent-encoded. Further conditions and the ends of long messages are cut,
 * so that the headers of an answer stay small.
 */
export function renderConditions(conditions: readonly DaemonCondition[]): string {
  let sent = conditions
    .slice(0, DAEMON_CONDITIONS_MAX)
    .map(({ code, channel, message, since, next_try }) => ({
      code,
      channel,
      message: message.slice(0, CONDITION_MESSAGE_MAX).toWellFormed(),
      since,
      next_try,
    }));
  let text = encodeURIComponent(JSON.stringify(sent));
  while (text.length > HEADER_MAX) {
    sent = sent.slice(0, -1);
    text = encodeURIComponent(JSON.stringify(sent));
  }
  return text;
}

/**
 * Parses the value of the header.
 *
 * @returns `null` when there is none, or when it is not of this form: then nothing is known
 */
export function parseConditions(value: string | null): readonly DaemonCondition[] | null {
  if (value === null) return null;
  try {
    const parsed = Conditions.safeParse(JSON.parse(decodeURIComponent(value)));
    if (!parsed.success) return null;
    // A newer daemon may report conditions that this server does not know.
    return parsed.data.flatMap((each) => Condition.safeParse(each).data ?? []);
  } catch {
    return null;
  }
}
