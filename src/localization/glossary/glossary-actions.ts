import type { BodyOf } from '../../contract/actions/body-of.ts';
import { missingScopes, type Caller } from '../../contract/actions/control-scopes.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { defineAction, type DefinedAction } from '../../engine/define-action.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { TaskResult } from '../../engine/tasks/task.ts';
import { glossaryError } from './glossary-failure.ts';
import type { GlossaryFiles } from './glossary-files.ts';
import type { ChangedTerm, GlossaryThread } from './glossary-worker.ts';
import type { TermTransition } from './store/glossary-writer.ts';
import type { TermAudit } from './store/stored-term.ts';
import { givenTermId, newTermFieldsOf, termFieldsOf } from './term-fields.ts';

interface CommonBody {
  readonly glossary_path?: string;
  readonly reviewer?: string;
  readonly reason?: string;
}

interface ChangeContext {
  readonly audit: TermAudit;
  readonly now: number;
}

export const TERM_PREFIX = 'gt_';

/** The five actions `translation-glossary-*`; each runs inside its request. */
export function glossaryActions(options: {
  readonly engine: TaskEngine;
  readonly thread: GlossaryThread;
  readonly files: GlossaryFiles;
  readonly clock: Clock;
  /** Makes the id of a new term, without its prefix. */
  readonly createId: () => string;
  /** Called after every change with the new generation. */
  readonly onChanged: (generation: number) => void;
}): readonly DefinedAction[] {
  const { engine, thread, files, clock } = options;
  const changing =
    <Body extends CommonBody>(
      change: (body: Body, context: ChangeContext, caller: Caller) => Promise<ChangedTerm>,
    ) =>
    async (body: Body, caller: Caller): Promise<TaskResult> => {
      await files.requireMain(body.glossary_path);
      try {
        const context = { audit: auditOf(body, caller), now: unixSeconds(clock) };
        const { term, generation } = await change(body, context, caller);
        options.onChanged(generation);
        return { term, generation };
      } catch (error) {
        throw glossaryError(error);
      }
    };
  const transition = (kind: TermTransition['kind']) =>
    changing(async (body: CommonBody & { term_id: string; force?: boolean }, context) => {
      const { term_id: termId, force = false } = body;
      return await thread.transition({ ...context, termId, kind, force });
    });
  return [
    defineAction(engine, 'translation-glossary-add', {
      run: changing(async (body: BodyOf<'translation-glossary-add'>, context) => {
        const fields = newTermFieldsOf(body);
        const termId = givenTermId(body.term_id) ?? TERM_PREFIX + options.createId();
        const status = body.review_status ?? 'draft';
        return await thread.add({ ...context, termId, fields, status });
      }),
    }),
    defineAction(engine, 'translation-glossary-update', {
      run: changing(async (body: BodyOf<'translation-glossary-update'>, context, caller) => {
        const { reviewer, reason } = context.audit;
        const mayReview = missingScopes(caller, ['review']).length === 0;
        const status = body.review_status ?? null;
        return await thread.update({
          ...context,
          termId: body.term_id,
          fields: termFieldsOf(body),
          isReviewed: mayReview && reviewer !== null && reason !== null,
          status,
        });
      }),
    }),
    defineAction(engine, 'translation-glossary-approve', { run: transition('approve') }),
    defineAction(engine, 'translation-glossary-deprecate', { run: transition('deprecate') }),
    defineAction(engine, 'translation-glossary-delete', { run: transition('delete') }),
  ];
}

function auditOf({ reviewer, reason }: CommonBody, { tokenId }: Caller): TermAudit {
  return { reviewer: textOrNull(reviewer), reason: textOrNull(reason), tokenId };
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined || text.trim() === '' ? null : text;
}
