import { listOperations, type OperationId } from '../../src/contract/operations/operations.ts';
import { STATUS_CDN_HOST, STATUS_FILE, STATUS_RELEASE_ID } from './operation-status-cases.ts';

/** One call of an operation with a generated client. */
export interface GeneratedCall {
  readonly operation: OperationId;
  readonly method: 'get' | 'head' | 'post';
  readonly template: string;
  readonly tag: string;
  /** Arguments by the names of the document. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | boolean>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | null;
  /** Whether the content of the good answer is JSON. */
  readonly isJson: boolean;
}

/** The outcome of a call, as its client sees it. */
export interface GeneratedOutcome {
  readonly operation: OperationId;
  readonly status: number;
  /** Whether the client returned content. */
  readonly hasContent: boolean;
}

const CONTEXT = '{"speaker":"Hina \\"x\\""}';
const FILE = { cdn_host: STATUS_CDN_HOST, path: `${STATUS_RELEASE_ID}/${STATUS_FILE}` };

/**
 * Calls of every operation that succeed on a synced release.
 *
 * @param taskId a task that exists
 */
export function generatedCalls(taskId: string): readonly GeneratedCall[] {
  const special: Partial<Record<OperationId, Partial<GeneratedCall>>> = {
    getResource: { path: FILE },
    headResource: { path: FILE },
    getReadiness: { query: { verbose: true } },
    getLauncherConfigJson: { query: { version: '1.0', file_path: 'prod/x.zip' } },
    getDistribution: { query: { destination: STATUS_FILE, channel: 'official' } },
    listResources: { query: { offset: Number.MAX_SAFE_INTEGER, limit: 1 } },
    getLogs: { query: { tail: 5 } },
    getTaskStatus: { query: { task_id: taskId } },
    getTaskLogs: { query: { task_id: taskId } },
    listTextUnits: { query: { destination: STATUS_FILE, offset: 1 } },
    listSchedules: { query: { enabled: true } },
    queryMemory: { query: { source_text: '先生', source_context: CONTEXT } },
    diagnoseGlossary: { query: { source_text: '先生', context: CONTEXT } },
    postControl: { path: { action: 'verify' }, body: { force: true } },
  };
  return listOperations().map((operation) => ({
    operation: operation.id,
    method: operation.method,
    template: operation.path,
    tag: operation.tag,
    path: {},
    query: {},
    headers: {},
    body: null,
    isJson: Object.entries(operation.answers).some(
      ([status, { kind }]) => status.startsWith('2') && kind === 'json',
    ),
    ...special[operation.id],
  }));
}
