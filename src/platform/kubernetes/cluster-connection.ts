import { addAbortSignal } from 'node:stream';
import {
  createConfiguration,
  HttpMethod,
  RequestContext,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  wrapHttpLibrary,
  type ApiConstructor,
  type ConfigurationOptions,
  type HttpLibrary,
  type KubeConfig,
} from '@kubernetes/client-node';
import { request as sendRequest, type Dispatcher } from 'undici';
import { z } from 'zod';
import { withinDeadline } from '../http/http-client.ts';
import { collectBounded } from '../memory/collect-bounded.ts';
import { namespaceOf } from './kube-config.ts';
import { KubernetesError } from './kubernetes-error.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Media type of the body, for patches. */
  readonly contentType?: string;
}

/** An API server, with the credentials of one kubeconfig context. */
export interface ClusterConnection {
  readonly server: string;
  readonly namespace: string;
  /** Makes a typed API. Its calls throw KubernetesError and HttpFailure, and are bounded by {@link call}. */
  api<T extends object>(type: ApiConstructor<T>): T;
  /** The last argument of a call of a typed API: its deadline, abort signal and media type. */
  readonly call: (options?: CallOptions) => ConfigurationOptions;
  /**
   * Sends a GET and returns its body as a stream, without a deadline.
   *
   * @throws KubernetesError; HttpFailure when the body of a refusal does not arrive in time; other network errors as they are
   */
  open(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer>>;
  readonly close: () => Promise<void>;
}

const CALL_TIMEOUT_MS = 15_000;
/** A page of 500 large objects; protects the memory from a broken server. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;
const RETRY_AFTER_MAX_SECONDS = 300;
/** A watch and the calls beside it must not share a connection, which HTTP/2 would make them do. */
const HTTP_1 = { allowH2: false };

/**
 * Connects to the current context of a kubeconfig. Credentials, TLS and proxies are those of the library. The
 * connections are kept here: the library would open a new one for every call.
 */
export function connectCluster(config: KubeConfig, userAgent: string): ClusterConnection {
  const server = config.getCurrentCluster()?.server ?? '';
  /** `undefined` inside stands for the default dispatcher: TLS with the certificates of the system. */
  let kept: { readonly dispatcher: Dispatcher | undefined } | null = null;

  /** The next call reads certificates again and opens new connections; streams that are open stay. */
  const renew = (): void => {
    kept?.dispatcher?.close().catch(() => undefined);
    kept = null;
  };

  /** A failure may be a matter of certificates; an abort by the caller is none. */
  const renewOnFailure = async <T>(caller: AbortSignal | undefined, effect: () => Promise<T>): Promise<T> => {
    try {
      return await effect();
    } catch (error) {
      if (caller?.aborted !== true) renew();
      throw error;
    }
  };

  /** @returns an answer whose body was not read, or the refusal of the API server */
  const exchange = async (
    context: RequestContext,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData | KubernetesError> => {
    await untilAborted(config.applySecurityAuthentication(context), signal);
    kept ??= { dispatcher: context.getDispatcher() };
    const { dispatcher } = kept;
    const body = context.getBody();
    context.setHeaderParam('User-Agent', userAgent);
    const answer = await sendRequest(context.getUrl(), {
      ...HTTP_1,
      method: context.getHttpMethod(),
      headers: context.getHeaders(),
      signal,
      ...(dispatcher === undefined ? {} : { dispatcher }),
      ...(typeof body === 'string' ? { body } : {}),
    });
    if (answer.statusCode >= 200 && answer.statusCode <= 299) return answer;
    if (answer.statusCode === 401) renew();
    const text = await withinDeadline(
      { timeoutMs: CALL_TIMEOUT_MS, signal },
      async (limit) => await readText(addAbortSignal(limit, answer.body)),
    );
    return refusalOf(answer.statusCode, answer.headers['retry-after'], text);
  };

  const send = async (context: RequestContext, options: CallOptions): Promise<ResponseContext> => {
    if (options.contentType !== undefined) context.setHeaderParam('Content-Type', options.contentType);
    const limits = { timeoutMs: options.timeoutMs ?? CALL_TIMEOUT_MS, signal: options.signal };
    const answered = await withinDeadline(limits, async (signal) => {
      return await renewOnFailure(options.signal, async () => {
        const answer = await exchange(context, signal);
        if (answer instanceof KubernetesError) return answer;
        const { statusCode, headers, body } = answer;
        return { statusCode, type: String(headers['content-type']), text: await readText(body) };
      });
    });
    if (answered instanceof KubernetesError) throw answered;
    const { statusCode, type, text } = answered;
    const decoded = new SelfDecodingBody(Promise.resolve(Buffer.from(text)));
    return new ResponseContext(statusCode, { 'content-type': type }, decoded);
  };

  const call = (options: CallOptions = {}): { readonly httpApi: HttpLibrary } => ({
    httpApi: wrapHttpLibrary({ send: async (context) => await send(context, options) }),
  });
  const configuration = createConfiguration({ baseServer: new ServerConfiguration(server, {}), ...call() });

  return {
    server,
    namespace: namespaceOf(config),
    api: (type) => new type(configuration),
    call,
    open: async (path, query, signal) => {
      const context = new RequestContext(`${server}${path}`, HttpMethod.GET);
      context.setHeaderParam('Accept', JSON_MEDIA_TYPE);
      for (const [name, value] of Object.entries(query)) context.setQueryParam(name, value);
      const answer = await renewOnFailure(signal, async () => await exchange(context, signal));
      if (answer instanceof KubernetesError) throw answer;
      return answer.body;
    },
    close: async () => await kept?.dispatcher?.destroy(),
  };
}

/** A program that gives credentials may hang. */
async function untilAborted(effect: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort);
  });
  try {
    await Promise.race([effect, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const tooLarge = (): Error => new Error(`the answer exceeds ${ANSWER_MAX_BYTES} bytes`);
  return (await collectBounded(body, ANSWER_MAX_BYTES, tooLarge)).toString('utf8');
}

const StatusBody = z
  .object({
    message: z.string(),
    reason: z.string(),
    code: z.int(),
    details: z
      .object({ causes: z.array(z.object({ reason: z.string().default('') })).default([]) })
      .nullable(),
  })
  .partial();

/** The error that an ERROR event of a watch carries. */
export function errorOfEvent(object: unknown): KubernetesError {
  const status = StatusBody.safeParse(object);
  const {
    code = 500,
    reason = '',
    message = 'the watch reported an error',
  } = status.success ? status.data : {};
  return new KubernetesError(code, reason, message);
}

function refusalOf(status: number, retryAfter: string | string[] | undefined, text: string): KubernetesError {
  const seconds = Number(retryAfter);
  const retryAfterMs =
    retryAfter !== undefined && seconds >= 0 ? Math.min(seconds, RETRY_AFTER_MAX_SECONDS) * 1000 : null;
  const { message = `the API server answered ${status}`, reason = '', details } = statusOf(text);
  const causes = (details?.causes ?? []).map((cause) => cause.reason);
  return new KubernetesError(status, reason, message, { retryAfterMs, causes });
}

function statusOf(text: string): z.output<typeof StatusBody> {
  try {
    const parsed = StatusBody.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : {};
  } catch {
    // A proxy in between may answer in another format; the status is enough.
    return {};
  }
}
