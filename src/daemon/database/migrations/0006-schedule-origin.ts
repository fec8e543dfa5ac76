import { CONTROLLER_SCHEDULE_PREFIX } from '../../../contract/schemas/schedule-ids.ts';

/** Where each schedule comes from, and an index for the history of one kind of task. */
export const SCHEDULE_ORIGIN_MIGRATION = `
ALTER TABLE schedule ADD COLUMN origin TEXT NOT NULL DEFAULT 'manual'
  CHECK (origin IN ('configured', 'manual', 'controller'));
UPDATE schedule SET origin = 'controller' WHERE id LIKE '${CONTROLLER_SCHEDULE_PREFIX}%';

CREATE INDEX task_by_kind ON task (kind, seq);
`;
