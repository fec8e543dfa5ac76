/** The jobs that a token may schedule, run and cancel; pure. */

import type { ControlScope } from '../../contract/actions/control-scopes.ts';
import type { ConsoleOutline } from '../../contract/console/console-contract.ts';
import type { App } from './app.ts';

/**
 * Whether the token may use an action on a schedule or a task of a job. The server decides by the job, and reports only
 * whether the token may use the action on any.
 *
 * @param action such as `schedule-run`
 * @param kind of the job
 */
export function mayRunOn(app: App, action: string, kind: string): boolean {
  const { jobs, actions } = app.contract;
  const scope = jobs[kind]?.scope ?? actions[kind]?.scope ?? 'operate';
  return app.mayRun(action) && (scope === 'named' || scope === 'read' || app.hasScope(scope));
}

/** The contract with the jobs that the token may schedule. */
export function permittedContract<Contract extends ConsoleOutline>(
  contract: Contract,
  hasScope: (scope: ControlScope) => boolean,
): Contract {
  const jobs = Object.entries(contract.jobs).filter(([, { scope }]) => scope === 'read' || hasScope(scope));
  return { ...contract, jobs: Object.fromEntries(jobs) };
}
