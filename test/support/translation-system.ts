import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AtEnd } from './shared-fixture.ts';
import { writeReleaseTree } from './release-tree.ts';
import { startSystem, type SystemOptions, type TestSystem } from './system.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until } from './until.ts';

/** The texts of a release: those of each file, in their order. */
export type TextFiles = Readonly<Record<string, readonly string[]>>;

/** An answer of the daemon. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

/** A unit as `parse.text_units` shows it. */
export interface ReportedUnit {
  readonly unit_id: string;
  readonly source_text: string;
  readonly destination: string;
  readonly translation: Readonly<Record<string, unknown>> | null;
}

/** A translation task as `translation.tasks` shows it. */
export interface ReportedTask {
  readonly task_id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly unit_counts: Readonly<Record<string, number>>;
  readonly destination: string;
  readonly release_id: string;
}

/** Other files of a release, which have no text, by destination. */
export type OtherFiles = Readonly<Record<string, string>>;

/** A daemon with a release whose text is indexed and whose tasks are built. */
export interface TranslationSystem {
  readonly system: TestSystem;
  /** Posts a control action. */
  act(action: string, body: object): Promise<Answer>;
  report(name: string, query?: Readonly<Record<string, string>>): Promise<Record<string, unknown>>;
  units(destination: string): Promise<readonly ReportedUnit[]>;
  /** The tasks of a destination, the current one last. */
  tasks(destination: string): Promise<readonly ReportedTask[]>;
  /** The current task of a destination. */
  task(destination: string): Promise<ReportedTask>;
  /** Publishes other texts as the next release, and waits for its tasks. */
  publish(releaseId: string, files: TextFiles, others?: OtherFiles): Promise<void>;
}

/** Files without text, and folders that are not in the temporary folder. */
export interface MoreOptions extends Pick<SystemOptions, 'snapshotRoot' | 'dataDirectory'> {
  readonly others?: OtherFiles;
}

/** Starts a daemon, and a server if its settings are given. */
export async function startTranslationSystem(
  files: TextFiles,
  daemon: Readonly<Record<string, object>> = {},
  atEnd: AtEnd = onTestFinished,
  server: Readonly<Record<string, object>> | null = null,
  { others = {}, ...folders }: MoreOptions = {},
): Promise<TranslationSystem> {
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  await writeReleaseTree(upstream, { id: 'r1', files: filesOf(files, others) });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    daemon,
    ...(server === null ? {} : { server }),
    ...folders,
    startNothing: true,
    atEnd,
  });
  await system.startDaemon();
  if (server !== null) await system.startServer();
  const report: TranslationSystem['report'] = async (name, query = {}) => {
    const response = await system.askDaemon(`/v1/reports/${name}?${new URLSearchParams(query).toString()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const tasks: TranslationSystem['tasks'] = async (destination) => {
    const { items = [] } = await report('translation.tasks', { destination, limit: '1000' });
    return items as ReportedTask[];
  };
  const untilBuilt = async (releaseId: string, count: number): Promise<void> => {
    await until(async () => {
      const { items = [] } = await report('translation.tasks', { release_id: releaseId, limit: '1000' });
      return (items as ReportedTask[]).length === count;
    }).catch(async (error: unknown) => {
      const { items: newest = [] } = await report('task.list');
      throw new Error(
        `the tasks of ${releaseId} were not built: ${JSON.stringify((newest as object[]).slice(0, 20))}`,
        { cause: error },
      );
    });
  };
  await untilBuilt('r1', Object.keys(files).length);
  return {
    system,
    report,
    tasks,
    act: async (action, body) => {
      const response = await system.askDaemon(`/v1/control/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { status, headers } = response;
      return { status, headers, body: (await response.json()) as Record<string, unknown> };
    },
    units: async (destination) => {
      const { items } = await report('parse.text_units', { destination, limit: '1000' });
      return items as ReportedUnit[];
    },
    task: async (destination) => {
      const [task] = await tasks(destination);
      if (task === undefined) throw new Error(`${destination} has no task`);
      return task;
    },
    publish: async (releaseId, next, otherFiles = {}) => {
      await writeReleaseTree(upstream, { id: releaseId, files: filesOf(next, otherFiles) });
      await system.succeed('sync');
      await untilBuilt(releaseId, Object.keys(next).length);
    },
  };
}

function filesOf(files: TextFiles, others: OtherFiles): Map<string, Buffer> {
  return new Map([
    ...Object.entries(files).map(([destination, texts]) => [destination, textFile(texts)] as const),
    ...Object.entries(others).map(([destination, content]) => [destination, Buffer.from(content)] as const),
  ]);
}

/** The bytes of a file with texts. */
export function textFile(texts: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(texts.map((Text, at) => ({ Id: at + 1, Text }))));
}
