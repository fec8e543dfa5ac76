import { z } from 'zod';
import { ProcessEndSchema } from '../../contract/reports/report-daemon.ts';
import { SUPERVISION_VARIABLE, type Supervision } from './supervision.ts';

const SupervisionSchema: z.ZodType<Supervision> = z.object({
  restarts: z.int().min(0),
  ends: z.array(ProcessEndSchema),
});

/** The history, as far as it can be read. */
export interface SupervisionRead {
  /** `null` without a supervisor, or when its history cannot be read. */
  readonly supervision: Supervision | null;
  /** For the log. */
  readonly warnings: readonly string[];
}

/** Reads the history that the supervisor put into the environment. */
export function supervisionOf(env: Readonly<Record<string, string | undefined>>): SupervisionRead {
  const text = env[SUPERVISION_VARIABLE];
  if (text === undefined) return { supervision: null, warnings: [] };
  try {
    return { supervision: SupervisionSchema.parse(JSON.parse(text)), warnings: [] };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { supervision: null, warnings: [`${UNREADABLE}: ${detail}`] };
  }
}

const UNREADABLE =
  'the history of the supervisor cannot be read, so the restart action and handovers do not work; restart the supervisor';
