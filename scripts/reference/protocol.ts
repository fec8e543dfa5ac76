import { actionDefinition, CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { REPORTS, type ReportName } from '../../src/contract/reports/reports.ts';
import { codes, table } from './markdown.ts';

/** Puts the generated tables into the hand-written docs/reference/daemon-protocol.md. */
export function renderProtocol(text: string): string {
  return insert(insert(text, 'reports', reportTable()), 'actions', actionTable());
}

function insert(text: string, name: string, generated: string): string {
  const [start, end] = [`<!-- generated: ${name} -->`, '<!-- /generated -->'];
  const from = text.indexOf(start);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`daemon-protocol.md has no place for the generated ${name}`);
  return `${text.slice(0, from + start.length)}\n\n${generated}\n\n${text.slice(to)}`;
}

function reportTable(): string {
  const rows = (Object.keys(REPORTS) as ReportName[]).map((name) => [
    `[\`${name}\`](schemas/reports/${name}.json)`,
    REPORTS[name].backend,
    codes(Object.keys(REPORTS[name].query.shape)),
  ]);
  return table(['Report', 'Backend', 'Query'], rows);
}

function actionTable(): string {
  const rows = CONTROL_ACTIONS.map((action) => [
    `[\`${action}\`](schemas/actions/${action}.json)`,
    actionDefinition(action).mode,
    codes(actionDefinition(action).errors),
  ]);
  return table(['Action', 'Runs', 'Errors'], rows);
}
