import type {
  ConsoleContract,
  ConsoleForms,
  ConsoleOutline,
} from '../../contract/console/console-contract.ts';

/** Puts the parts of the contract together. What only one of them has is of another version of the server, and left out. */
export function wholeContract(outline: ConsoleOutline, forms: ConsoleForms): ConsoleContract {
  return {
    ...outline,
    problems: forms.problems,
    actions: joined(outline.actions, forms.actions),
    jobs: joined(outline.jobs, forms.jobs),
    reports: outline.reports.flatMap((report) => {
      const form = forms.reports[report.report];
      return form === undefined ? [] : [{ ...report, ...form }];
    }),
  };
}

function joined<Known, Form>(
  known: Readonly<Record<string, Known>>,
  forms: Readonly<Record<string, Form>>,
): Readonly<Record<string, Known & Form>> {
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, each]) => {
      const form = forms[name];
      return form === undefined ? [] : [[name, { ...each, ...form }] as const];
    }),
  );
}
