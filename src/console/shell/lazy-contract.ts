import { signal } from '@preact/signals';
import type {
  ConsoleContract,
  ConsoleForms,
  ConsoleOutline,
} from '../../contract/console/console-contract.ts';

/** The whole contract, whose forms are loaded when the first one is needed. */
export interface LazyContract {
  /** The contract; `null` until it is here. A component that reads it is drawn again then. */
  value(): ConsoleContract | null;
  /** Loads it once. After a load that failed, the next call loads it. */
  load(): Promise<ConsoleContract>;
}

/** Makes the contract of one page. @param loadForms rejects when the server does not answer */
export function createLazyContract(
  outline: ConsoleOutline,
  loadForms: () => Promise<ConsoleForms>,
): LazyContract {
  const loaded = signal<ConsoleContract | null>(null);
  let loading: Promise<ConsoleContract> | null = null;
  const load = async (): Promise<ConsoleContract> => {
    try {
      const contract = joinContract(outline, await loadForms());
      loaded.value = contract;
      return contract;
    } catch (error) {
      loading = null;
      throw error;
    }
  };
  return { value: () => loaded.value, load: async () => await (loading ??= load()) };
}

/** The contract of an outline and its forms. */
export function joinContract(outline: ConsoleOutline, forms: ConsoleForms): ConsoleContract {
  return {
    ...outline,
    problems: forms.problems,
    actions: joinMembers(outline.actions, forms.actions),
    jobs: joinMembers(outline.jobs, forms.jobs),
    reports: outline.reports.flatMap((report, at) => {
      const form = forms.reports[at];
      return form === undefined ? [] : [{ ...report, ...form }];
    }),
  };
}

function joinMembers<One, Other>(
  ones: Readonly<Record<string, One>>,
  others: Readonly<Record<string, Other>>,
): Readonly<Record<string, One & Other>> {
  return Object.fromEntries(
    Object.entries(ones).flatMap(([name, one]) => {
      const other = others[name];
      return other === undefined ? [] : [[name, { ...one, ...other }] as const];
    }),
  );
}
