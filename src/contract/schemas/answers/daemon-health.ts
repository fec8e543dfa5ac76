import { z } from 'zod';
import { answer } from './answer.ts';
import { Count } from './common.ts';

/** `GET /healthz` of the daemon. */
export const DaemonHealthAnswer = answer(
  z.object({
    status: z.literal('ok'),
    version: z.string(),
    boot_id: z.string().describe('Changes with every start.'),
    uptime_seconds: Count,
    waiting_for: z
      .string()
      .optional()
      .describe('While this daemon is a standby: the daemon that it waits for, and why.'),
  }),
  { status: 'ok', version: '0.1.0', boot_id: '2f1c0c5e-6a0b-4c53-9a39-5f1f3f0f9d11', uptime_seconds: 86_400 },
);

/** `GET /readyz` of the daemon: 200 when ready, 503 otherwise, with the same body. */
export const DaemonReadinessAnswer = answer(
  z.object({
    ready: z.boolean().describe('Whether recovery is complete, so that reports and actions work.'),
    message: z.string(),
  }),
  { ready: true, message: 'ready' },
);
