import { printable, textFields } from '../../../platform/terminal/text-table.ts';
import { postAction } from '../admin-api.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { given } from '../reports.ts';
import { REVIEWED, reviewOf, whileCopied } from './accept-command.ts';
import { readUnit } from './search-command.ts';
import { sendTargets } from './task-updates.ts';

/** Runs `translations set`. @throws CtlFailure */
export async function runSet(context: CtlContext): Promise<CtlExit> {
  const { api, args, words } = context;
  const [text = ''] = words;
  if (text === '') {
    const advice = 'the translation is empty; to take one back use translations undo';
    throw new CtlFailure(CTL_EXITS.usage, advice);
  }
  const isTrial = args.values['dry-run'] === true;
  const unit = await namedUnit(context);
  const { task_id: taskId, revision } = unit.translation;
  const target = { unitId: unit.unit_id, taskId, sourceText: unit.source_text, text, revision };
  const fields = given({ reason: textOption(args, 'reason') });
  const updated = await sendTargets(api, { taskId, targets: [target] }, fields, { isTrial });
  const stored = updated.get(unit.unit_id);
  // The same text again is no change.
  const { state, findings } = stored ?? unit.translation;
  await printValue(context, { dry_run: isTrial, unit_id: unit.unit_id, state, findings }, () =>
    [
      textFields([
        ['unit', unit.unit_id],
        ['source', unit.source_text],
        ['translation', text],
        ['state', state],
      ]),
      ...findings.map(({ check, severity, message }) => printable(`${severity} ${check}: ${message}`) + '\n'),
      ...(isTrial ? ['nothing was changed: --dry-run\n'] : []),
    ].join(''),
  );
  return state === 'blocked' ? CTL_EXITS.failed : CTL_EXITS.ok;
}

/** Runs `translations accept --unit`. @throws CtlFailure */
export async function runAcceptUnit(context: CtlContext): Promise<CtlExit> {
  const { api, args } = context;
  const fields = reviewOf(context);
  if (args.values.task !== undefined || args.values.destination !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, 'give only one of --unit, --task and --destination');
  }
  const isTrial = args.values['dry-run'] === true;
  const unit = await namedUnit(context);
  const { unit_id: unitId, source_text: sourceText } = unit;
  const { target_text: text } = unit.translation;
  if (text === null) throw new CtlFailure(CTL_EXITS.failed, `${unitId} has no translation for its source`);
  let isRead = true;
  const { written } = await whileCopied(context, async () => {
    const { translation, source_text: source } = isRead ? unit : await namedUnit(context);
    isRead = false;
    // The daemon copies targets to equal units. Anything else is a decision of somebody, also with the same text.
    const isCopied = translation === unit.translation || translation.propagated_from !== null;
    if (!isCopied || translation.target_text !== text || source !== sourceText) {
      const advice = 'look at it with translations search, and accept it again';
      throw new CtlFailure(CTL_EXITS.failed, `somebody has changed ${unitId} meanwhile; ${advice}`);
    }
    const body = {
      task_id: translation.task_id,
      status: 'proofread',
      ...fields,
      translation_results: [{ unit_id: unitId, source_text: sourceText, translated_text: text }],
      args: [`expect=${unitId}:${translation.revision}`, ...(isTrial ? ['dry_run=true'] : [])],
    };
    return await postAction(api, 'translation-proofread', body, REVIEWED);
  });
  await printValue(context, { dry_run: isTrial, unit_id: unitId, units: written }, () =>
    isTrial ? `${unitId} could be accepted: --dry-run\n` : `${unitId} is accepted\n`,
  );
  return CTL_EXITS.ok;
}

async function namedUnit(context: CtlContext): ReturnType<typeof readUnit> {
  const unit = textOption(context.args, 'unit');
  if (unit !== undefined) return await readUnit(context, unit);
  throw new CtlFailure(CTL_EXITS.usage, 'name the text unit: --unit ID');
}
