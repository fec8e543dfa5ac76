import { OPEN_STATUSES } from '../../../domain/translation/task-status.ts';

/** The SQL condition that workers may take chunks of a task: nobody has set a status that stays. */
export const TASK_IS_OPEN = `(stored_status IS NULL OR stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}))`;
