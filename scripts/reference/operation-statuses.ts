import { listOperations } from '../../src/contract/operations/operations.ts';
import { STATUS_CASES, STATUS_WORLDS, type StatusWorld } from '../../test/support/operation-status-cases.ts';
import { table } from './markdown.ts';

/** docs/reference/operation-statuses.md */
export function renderOperationStatuses(): string {
  const rows = listOperations().flatMap(({ id, method, path, answers }) =>
    Object.entries(answers).map(([status, { description }]) => [
      `\`${id}\``,
      `${method.toUpperCase()} \`${path}\``,
      status,
      description,
      waysTo(id, Number(status)),
    ]),
  );
  const worlds = (Object.keys(STATUS_WORLDS) as StatusWorld[]).map((world) => [
    `\`${world}\``,
    STATUS_WORLDS[world],
  ]);
  return `# Operations and their statuses

Generated from the operation table and its test by \`make docs\`; do not edit.

Every status that an operation can return, and how the test
[operation-statuses.test.ts](../../test/integration/operation-statuses.test.ts) reaches it. The names before the colon are
titles of that test; each stands for one setup behind the server. The test validates each answer against the schema of its
status.

${table(['Operation', 'Route', 'Status', 'When', 'Reached by'], rows)}

## Setups behind the server

${table(['Test', 'Setup'], worlds)}
`;
}

/** `world: how, how; world`, the worlds with the same ways together. */
function waysTo(operation: string, status: number): string {
  const ways = new Map<StatusWorld, string[]>();
  for (const each of STATUS_CASES) {
    if (each.operation !== operation || each.status !== status) continue;
    ways.set(each.world, [...(ways.get(each.world) ?? []), ...(each.how === '' ? [] : [each.how])]);
  }
  const together = new Map<string, StatusWorld[]>();
  for (const [world, hows] of ways) {
    const text = hows.join(', ');
    together.set(text, [...(together.get(text) ?? []), world]);
  }
  return [...together]
    .map(([text, worlds]) => {
      const names = worlds.map((world) => `\`${world}\``).join(', ');
      return text === '' ? names : `${names}: ${text}`;
    })
    .join('; ');
}
