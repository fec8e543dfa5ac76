/** The addresses of single objects; pure. */

/** The page of a task of the daemon. */
export function taskAddress(id: string): string {
  return `#/tasks/${encodeURIComponent(id)}`;
}

/** The page of a release. */
export function releaseAddress(id: string): string {
  return `#/releases/${encodeURIComponent(id)}`;
}

/**
 * The page of a term.
 *
 * @param source its source term, by which the page finds it among any number of terms
 */
export function termAddress(id: string, source: string): string {
  return `#/glossary/${encodeURIComponent(id)}?${new URLSearchParams({ source }).toString()}`;
}

/** The estimate of a run for one translation task, which shows its prompt. */
export function machineAddress(taskId: string): string {
  return `#/machine?task=${encodeURIComponent(taskId)}`;
}

/**
 * The editor of a translation task.
 *
 * @param choices `unit`: the unit to open; `mode`: `review` to decide about it
 */
export function editorAddress(
  taskId: string,
  choices: { readonly unit?: string; readonly mode?: 'review' } = {},
): string {
  const search = new URLSearchParams(choices).toString();
  return `#/translate-task/${encodeURIComponent(taskId)}${search === '' ? '' : `?${search}`}`;
}
