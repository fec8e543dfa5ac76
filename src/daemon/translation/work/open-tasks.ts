import { OPEN_STATUSES } from '../../../domain/translation/task-status.ts';

/** The SQL condition that workers may take chunks of a task: nobody has set a status that stays. */
export const TASK_IS_OPEN = `(stored_status IS NULL OR stored_status IN (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}))`;

/** The SQL condition that a task takes targets of people and repetitions. A failed one does, although workers leave it alone. */
export const TASK_TAKES_TARGETS = `(${TASK_IS_OPEN} OR stored_status = 'failed')`;
