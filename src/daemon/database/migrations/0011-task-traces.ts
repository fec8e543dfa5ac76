/**
 * The trace of the request that queued a task, as the fields `traceparent` and `tracestate` of W3C Trace Context, so that a task
 * keeps it when the daemon restarts. Both are NULL for a task without a trace.
 */
export const TASK_TRACES_MIGRATION = `
ALTER TABLE task ADD COLUMN traceparent TEXT;
ALTER TABLE task ADD COLUMN tracestate TEXT;
`;
