import { z } from 'zod';
import { Count } from '../../src/contract/schemas/answers/common.ts';

/** `GET /healthz` of the daemon. */
export const DaemonHealthSchema = z.object({
  status: z.literal('ok'),
  version: z.string(),
  boot_id: z.string().describe('Changes with every start.'),
  uptime_seconds: Count,
  waiting_for: z
    .string()
    .optional()
    .describe('While this daemon is a standby: the daemon that it waits for, and why.'),
});

/** `GET /readyz` of the daemon: 200 when ready, 503 otherwise, with the same body. */
export const DaemonReadinessSchema = z.object({
  ready: z.boolean().describe('Whether recovery is complete, so that reports and actions work.'),
  message: z.string(),
});

/** The answer of `POST /v1/damage`. */
export const DamageAcceptedSchema = z.object({
  accepted: Count.describe(
    'Objects and manifests that the daemon checks now, or already knows to be damaged.',
  ),
  ignored: Count.describe('Those that no kept release holds, or that did not fit the queue.'),
});
