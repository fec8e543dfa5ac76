import type { JSX } from 'preact';
import type { Task } from '../api/wire.ts';
import { useApp } from '../state/app.ts';
import { duration } from '../text/format.ts';

/** How long a task took, or has taken so far. */
export function Took({ task }: { readonly task: Task }): JSX.Element {
  const app = useApp();
  const { started_at: started, finished_at: finished } = task;
  return <>{started === null ? '–' : duration((finished ?? app.now()) - started)}</>;
}
