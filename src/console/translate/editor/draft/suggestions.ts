import { signal, type ReadonlySignal } from '@preact/signals';
import { postAction } from '../../../actions/post-action.ts';
import { ApiFailure, failureOf } from '../../../api/api-client.ts';
import type { Task } from '../../../api/wire.ts';
import type { App } from '../../../state/app.ts';
import { readReport } from '../../../state/read-report.ts';
import { isActive } from '../../../state/tasks.ts';
import type { Unit } from '../unit.ts';

/** A target that a provider proposes; only a person stores it. */
export interface Suggestion {
  readonly unit_id: string;
  /** Of the source that it translates. */
  readonly source_digest: string;
  readonly target_text: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly findings: readonly { readonly severity: string; readonly message: string }[];
  readonly terms: readonly { readonly source: string; readonly target: string }[];
  readonly examples: readonly { readonly source: string; readonly target: string }[];
}

/** A failure is that of the `unit` that was asked for. */
type SuggestionState = 'idle' | 'asking' | { readonly unit: string; readonly failure: ApiFailure };

/** The suggestions of this page. They are forgotten with it, and when another token logs in. */
export interface Suggestions {
  /** The suggestion for the present source of a unit. */
  readonly for: (unit: Unit) => Suggestion | undefined;
  readonly state: ReadonlySignal<SuggestionState>;
  readonly forget: () => void;
  /** Asks for one unit, or with `open` for the next ones of a task that need a target. @returns how many there are */
  readonly ask: (taskId: string, unit: string) => Promise<number>;
}

/** How often the run is read while it lasts, milliseconds. */
const EVERY_MS = 800;
/** Readings that may fail in a row: the run continues without its reader, and to ask again costs again. */
const MOST_FAILURES = 30;

/** Creates the suggestions of a page. */
export function createSuggestions(app: App, everyMs = EVERY_MS): Suggestions {
  const found = signal<ReadonlyMap<string, Suggestion>>(new Map());
  const state = signal<SuggestionState>('idle');
  // Counts the tokens: an answer to one before is not for the reader.
  let reader = 0;
  return {
    for: ({ unit_id: id, source_digest: digest }) => {
      const suggestion = found.value.get(id);
      return suggestion?.source_digest === digest ? suggestion : undefined;
    },
    state,
    forget: () => {
      reader += 1;
      found.value = new Map();
      state.value = 'idle';
    },
    ask: async (taskId, unit) => {
      if (state.peek() === 'asking') return 0;
      state.value = 'asking';
      const asker = reader;
      try {
        const body = JSON.stringify({ task_id: taskId, args: [`suggest=${unit}`] });
        const accepted = await postAction(app, 'translation-worker-run', body);
        const task = await endOf(app, accepted.task_id, { everyMs, isWanted: () => asker === reader });
        if (task === null) return 0;
        const given = (task.result?.['suggestions'] ?? []) as readonly Suggestion[];
        found.value = new Map([...found.peek(), ...given.map((each) => [each.unit_id, each] as const)]);
        if (task.status !== 'succeeded' || given.length === 0)
          throw new ApiFailure(task.failure_reason ?? 'The provider had no suggestion for this text.');
        state.value = 'idle';
        return given.length;
      } catch (error) {
        if (asker === reader) state.value = { unit, failure: failureOf(error) };
        return 0;
      }
    },
  };
}

/** Waits until a task has ended. @returns `null` when nobody wants it any longer @throws ApiFailure */
async function endOf(
  app: App,
  id: string,
  { everyMs, isWanted }: { readonly everyMs: number; readonly isWanted: () => boolean },
): Promise<Task | null> {
  for (let failures = 0; isWanted(); await new Promise((resolve) => setTimeout(resolve, everyMs))) {
    try {
      const { task } = await readReport(app, 'task.status', { task_id: id });
      failures = 0;
      if (!isActive(task)) return isWanted() ? task : null;
    } catch (error) {
      const failure = failureOf(error);
      failures += 1;
      if (!failure.isPassing || failures > MOST_FAILURES) throw failure;
    }
  }
  return null;
}
