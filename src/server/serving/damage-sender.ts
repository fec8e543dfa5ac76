import { DAMAGE_MESSAGE_MAX, type ReportedObject } from '../../contract/formats/damage-report.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DamageChange, Serving } from './serving.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';

/** Maximum number of damaged objects that are remembered; a release with that many is withdrawn long before. */
export const SENDER_OBJECTS_MAX = 10_000;
/** Milliseconds after which a report is sent again: the daemon may have restarted before it checked the object. */
export const RESEND_MS = 60_000;
/** How often a report is sent. The daemon keeps its findings, so further reports would tell it nothing new. */
export const SENDS = 4;
/** Reports of one request: with the longest texts they stay below the largest body that the daemon accepts. */
const BATCH_REPORTS = 100;
/** Milliseconds to wait for further changes before a request, so that one request carries several. */
const BATCH_MS = 50;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

interface DamageSender {
  start(): void;
  stop(): Promise<void>;
}

interface PendingReport {
  readonly report: ReportedObject;
  readonly sendsLeft: number;
}

/**
 * Makes the sender. It watches for damage from its creation and sends after `start`: each change soon, and again once a
 * minute, up to {@link SENDS} times, while the object is damaged. While the daemon is unavailable it retries with
 * backoff. No request waits for it.
 */
export function createDamageSender(options: {
  readonly serving: Serving;
  readonly client: DaemonClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}): DamageSender {
  const { client, clock, logger } = options;
  const pending = new Map<Blake3Hex, PendingReport>();
  const due = new Set<Blake3Hex>();
  const stopping = new AbortController();
  let woken = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const noteChange = ({ blake3, report }: DamageChange): void => {
    pending.delete(blake3);
    due.delete(blake3);
    if (report === null || pending.size >= SENDER_OBJECTS_MAX) return;
    const { destination, kind, message } = report;
    const reported = { blake3, destination, kind, message: message.slice(0, DAMAGE_MESSAGE_MAX) };
    pending.set(blake3, { report: reported, sendsLeft: SENDS });
    due.add(blake3);
    woken.abort();
  };
  options.serving.watchDamage(noteChange);
  options.serving.watchManifests(noteChange);

  const settle = (blake3: Blake3Hex, sent: PendingReport): void => {
    if (pending.get(blake3) !== sent) return;
    due.delete(blake3);
    if (sent.sendsLeft > 1) pending.set(blake3, { ...sent, sendsLeft: sent.sendsLeft - 1 });
    else pending.delete(blake3);
  };

  const sendDue = async (): Promise<void> => {
    while (due.size > 0) {
      const batch = [...pending].filter(([blake3]) => due.has(blake3)).slice(0, BATCH_REPORTS);
      const reports = batch.map(([, { report }]) => report);
      await client.postDamage(reports, stopping.signal);
      for (const [blake3, sent] of batch) settle(blake3, sent);
      logger.debug({ sent: batch.length }, 'damage reported to the daemon');
    }
  };

  const sendForever = async (): Promise<void> => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      woken = new AbortController();
      if (due.size === 0) await pause(clock, RESEND_MS, AbortSignal.any([stopping.signal, woken.signal]));
      // No change for a minute.
      if (due.size === 0) for (const blake3 of pending.keys()) due.add(blake3);
      if (due.size > 0) await pause(clock, BATCH_MS, stopping.signal);
      try {
        if (!stopping.signal.aborted) await sendDue();
        failures = 0;
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (failures === 0) {
          logger.warn({ err: error }, 'damage could not be reported to the daemon; the server retries');
        }
        const backoff = Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS);
        // A further change does not shorten it: many changes must not flood a daemon that is away.
        await pause(clock, backoff * (0.5 + 0.5 * options.random()), stopping.signal);
        failures += 1;
      }
    }
  };

  return {
    start: () => {
      running = sendForever();
    },
    stop: async () => {
      stopping.abort(new Error('the server is stopping'));
      await running;
    },
  };
}
