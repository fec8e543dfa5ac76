import { FILE_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import type { CtlContext } from '../ctl-context.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { countText } from '../../../domain/count-text.ts';
import { importUnits, type ImportOptions, type ImportResult } from './import-units.ts';
import { countOutcomes, isProblem, OUTCOMES, type Outcome, type UnitOutcome } from './outcomes.ts';
import type { UpdateFields } from './task-updates.ts';
import { noticeLine, readUnitFile, type UnitFile } from './unit-file.ts';
import { unitLines, writeUnitReport } from './unit-report.ts';

const SHOWN_TASKS = 10;

/** The run of a provider that importing a file is: the same bytes are the same run. */
function runOfFile({ sha256 }: UnitFile): string {
  return `${FILE_PROVIDER}:${sha256.slice(0, 32)}`;
}

/** Runs `translations import`. @throws CtlFailure */
export async function runImport(context: CtlContext): Promise<CtlExit> {
  const { args, words } = context;
  const [path = ''] = words;
  const file = await readUnitFile(path, args);
  const workerId = textOption(args, 'worker');
  const options = {
    file,
    status: statusOf(context),
    isPartial: args.values.partial === true,
    isTrial: args.values['dry-run'] === true,
    fields: {
      provider: FILE_PROVIDER,
      provider_run_id: runOfFile(file),
      ...(workerId === undefined ? {} : { worker_id: workerId }),
    } satisfies UpdateFields,
  };
  const result = await importUnits(context, options);
  await writeUnitReport(context, result.outcomes);
  await printValue(context, summaryOf(file, options, result), () =>
    renderImport(context, file, options, result),
  );
  if (result.failure !== null) throw midwayFailure(result, result.failure);
  const isWhole = !result.outcomes.some((each) => isProblem(each.outcome)) && result.unfinished.length === 0;
  return isWhole ? CTL_EXITS.ok : CTL_EXITS.failed;
}

function statusOf({ args }: CtlContext): ImportOptions['status'] {
  const status = textOption(args, 'status') ?? 'in_progress';
  if (status === 'in_progress' || status === 'translated') return status;
  throw new CtlFailure(CTL_EXITS.usage, `--status ${status}: must be in_progress or translated`);
}

function summaryOf(
  file: UnitFile,
  { isTrial }: ImportOptions,
  { releaseId, outcomes, calls, finished, unfinished, failure }: ImportResult,
): object {
  return {
    file: file.path,
    provider_run_id: runOfFile(file),
    release_id: releaseId,
    dry_run: isTrial,
    units: outcomes.length,
    notices: file.notices,
    outcomes: countOutcomes(outcomes),
    calls,
    finished_tasks: finished,
    unfinished_tasks: unfinished,
    failure: failure?.message ?? null,
  };
}

function renderImport(
  context: CtlContext,
  file: UnitFile,
  { isTrial, isPartial, status }: ImportOptions,
  { outcomes, calls, finished, unfinished }: ImportResult,
): string {
  const isSubmitted = status === 'translated';
  const told = outcomes.filter((each) => isTold(each, isSubmitted)).map(lineOf);
  const counts = Object.entries(countOutcomes(outcomes));
  const lines = [
    `${countText(outcomes.length, 'unit')} in ${file.path}`,
    ...counts.map(([name, units]) => `  ${units} ${name}: ${OUTCOMES[name as Outcome].text}`),
    ...unfinished.slice(0, SHOWN_TASKS).map((reason) => `not complete: ${reason}`),
  ];
  if (unfinished.length > SHOWN_TASKS) lines.push(`... and ${unfinished.length - SHOWN_TASKS} more`);
  if (finished.length > 0) {
    lines.push(`${countText(finished.length, 'task is', 'tasks are')} translated`);
  }
  if (isTrial) lines.push('nothing was stored: --dry-run');
  else if (calls.planned === 0 && !isPartial && outcomes.some((each) => isProblem(each.outcome))) {
    lines.push('nothing was stored: correct the file, or add --partial to store the units without a problem');
  } else if (calls.planned === 0 && !isPartial && unfinished.length > 0) {
    lines.push('nothing was stored: complete the tasks, or leave --status translated out');
  } else if (calls.made > 0) {
    lines.push(
      `${calls.made} of ${countText(calls.planned, 'call')} stored targets; run ${runOfFile(file)}`,
      ...(isSubmitted
        ? []
        : ['the targets are drafts; import the file with --status translated when its tasks are complete']),
    );
  }
  return `${unitLines(context, file.path, told)}${file.notices.map(noticeLine).join('')}${lines.join('\n')}\n`;
}

const BLOCKED: ReadonlySet<Outcome> = new Set(['stored_blocked', 'ready_blocked', 'unchanged_blocked']);

/** Whether the output lists a unit. A unit without a target is listed only when the task is submitted. */
function isTold({ outcome, detail, remark }: UnitOutcome, isSubmitted: boolean): boolean {
  return (
    isProblem(outcome) ||
    BLOCKED.has(outcome) ||
    remark !== undefined ||
    (isSubmitted && outcome === 'no_target' && detail !== '')
  );
}

function lineOf(each: UnitOutcome): UnitOutcome & { text: string } {
  const { file_unit_id: id, outcome, detail, remark = '' } = each;
  const more = [detail, remark].map((text) => (text === '' ? '' : `: ${text}`)).join('');
  return { ...each, text: `${outcome}: ${id ?? 'no id'}: ${OUTCOMES[outcome].text}${more}` };
}

function midwayFailure({ calls }: ImportResult, failure: CtlFailure): CtlFailure {
  const message = `${failure.message}\n${calls.made} of ${countText(calls.planned, 'call')} ${calls.planned === 1 ? 'was' : 'were'} made, each for the targets of one task; their targets are stored. Correct the cause and import the same file again: it continues with the rest`;
  return new CtlFailure(failure.exit, message, { cause: failure });
}
