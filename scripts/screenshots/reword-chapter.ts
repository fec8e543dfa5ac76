import { CONSOLE_FILES } from '../../test/support/console-release.ts';
import type { ConsoleWorld } from '../../test/support/console-world.ts';

/** Wordings that a reviewer changes, so that a rollback takes small changes back. */
const WORDINGS = [
  ['老师', '老师您'],
  ['找到了', '发现了'],
  ['图书馆', '图书室'],
  ['谢谢', '多谢'],
] as const;
/** Of each wording. */
const LINES = 2;

/** Publishes a release in which some published lines have another wording. */
export async function rewordChapter({ units, task, act, ended }: ConsoleWorld): Promise<void> {
  const destination = CONSOLE_FILES.published;
  const known = await units(destination);
  const lines = WORDINGS.flatMap(([from, to]) =>
    known
      .filter(({ translation }) => translation?.target_text?.includes(from))
      .slice(0, LINES)
      .map(({ unit_id, source_text, translation }) => ({
        unit_id,
        source_text,
        translated_text: (translation?.target_text ?? '').replace(from, to),
      })),
  ).filter(({ unit_id }, at, all) => all.findIndex((each) => each.unit_id === unit_id) === at);
  if (lines.length === 0) throw new Error(`no line of ${destination} has a word to change`);
  const task_id = await task(destination);
  await act('translate', 'translation-task-update', { task_id, translation_results: lines });
  await act('review', 'translation-proofread', { task_id, status: 'proofread', reviewer: 'rin' });
  const body = { from_worker: true, force: true, reviewer: 'lead', reason: 'better wording' };
  const { status, failure_reason: why } = await ended(await act('publish', 'localized-publish', body));
  if (status !== 'succeeded') throw new Error(`the new wording was not published: ${String(why)}`);
}
