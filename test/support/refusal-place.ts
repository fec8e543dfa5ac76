import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServedTranslation } from './served-translation.ts';

/** A file that is there in the folder of prepared translations, and one whose link leads out of each folder. */
export const FIXTURE_FILE = 'prepared.jsonl';
export const OUTSIDE_LINK = 'outside';

/** The texts of the file of a topic; no other file has them. */
export function textsOf(topic: string): readonly string[] {
  return [`おはよう{0}、${topic}`, `<b>さようなら</b>、${topic}`, `先生、${topic}`];
}

const TARGETS = ['早上好{0}', '<b>再见</b>', '老师'];

/** One result of a translation. */
interface Result {
  readonly unit_id: string;
  readonly source_text: string;
  readonly translated_text: string;
}

/** A file with its task, that one case has for itself, and the steps that lead to a state. */
export interface RefusalPlace {
  readonly topic: string;
  readonly taskId: string;
  /** The id of a unit. */
  id(at: number): string;
  /** A result for a unit; by default a sound one. */
  result(at: number, target?: string, source?: string): Result;
  /** Does an action as the translator Ann, at the daemon. @returns its result. @throws when it is refused */
  act(action: string, body: object): Promise<Record<string, unknown>>;
  /** Does an action as the caller of the refused one, at the server. @throws when it is refused */
  actMyself(action: string, body: object): Promise<void>;
  /** Writes to the task. */
  update(body: object): Promise<void>;
  /** Translates every unit of the task. @param last target of the last unit */
  translate(last?: string): Promise<void>;
  /** The id of the record of the Translation Memory with a target; by default that of the last unit. */
  record(target?: string, at?: number): Promise<string>;
  /** Adds a Glossary term. @returns its id */
  term(fields?: object): Promise<string>;
}

/** The fields of a new term. */
export function termFields(topic: string): object {
  return {
    source_term: `用語${topic}`,
    recommended_translation: '术语',
    source_language: 'ja',
    target_language: 'zh-Hans',
    source: { source_kind: 'manual', observed_unix_seconds: 5 },
  };
}

/** Opens the place of a topic, whose file the release has. */
export async function openPlace(world: ServedTranslation, topic: string): Promise<RefusalPlace> {
  const { task_id: taskId } = await world.task(`${topic}.json`);
  const units = await world.units(`${topic}.json`);
  const id = (at: number): string => units[at]?.unit_id ?? '';
  const result: RefusalPlace['result'] = (
    at,
    target = TARGETS[at] ?? '',
    source = textsOf(topic)[at] ?? '',
  ) => ({
    unit_id: id(at),
    source_text: source,
    translated_text: target,
  });
  const act: RefusalPlace['act'] = async (action, body) => {
    const answer = await world.system.askDaemon(`/v1/control/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'slipway-token-id': 'ann' },
      body: JSON.stringify(body),
    });
    const accepted = (await answer.json()) as Record<string, unknown>;
    requireAccepted(action, answer.status, accepted);
    return accepted['result'] as Record<string, unknown>;
  };
  const update: RefusalPlace['update'] = async (body) => {
    await act('translation-task-update', { task_id: taskId, ...body });
  };
  return {
    topic,
    taskId,
    id,
    result,
    act,
    actMyself: async (action, body) => {
      const answer = await world.post(action, body);
      requireAccepted(action, answer.status, answer.body);
    },
    update,
    translate: async (last) => {
      const translation_results = [result(0), result(1), result(2, last)];
      await update({ status: 'translated', translation_results });
    },
    record: async (target = TARGETS[2], at = 2) => {
      const source_text = textsOf(topic)[at] ?? '';
      const { matches } = await world.report('translation.memory.query', { source_text });
      const records = (matches as { record: Record<string, string> }[]).map(({ record }) => record);
      const found = records.find(
        (record) => record['source_text'] === source_text && record['target_text'] === target,
      );
      if (found?.['record_id'] === undefined)
        throw new Error(`no record of ${topic} has the target ${String(target)}`);
      return found['record_id'];
    },
    term: async (fields = {}) => {
      const { term } = await act('translation-glossary-add', { ...termFields(topic), ...fields });
      return (term as { term_id: string }).term_id;
    },
  };
}

/** Writes the files that the bodies name into the folders below which the daemon looks for them. */
export async function writeNamedFiles(dataDirectory: string): Promise<void> {
  for (const folder of ['fixtures', 'exchange', 'memory', 'glossary']) {
    await mkdir(join(dataDirectory, folder), { recursive: true });
    await symlink(join(dataDirectory, 'api.token'), join(dataDirectory, folder, OUTSIDE_LINK));
  }
  const line = JSON.stringify({ source_text: 'はい', translated_text: '是' });
  await writeFile(join(dataDirectory, 'fixtures', FIXTURE_FILE), line);
}

function requireAccepted(action: string, status: number, body: object): void {
  if (status !== 202) throw new Error(`${action}: ${status} ${JSON.stringify(body)}`);
}
