import type { ServerResponse } from 'node:http';
import {
  completion,
  goodRows,
  linesOf,
  openProvider,
  sendJson,
  startProviderServer,
  type OpenedProvider,
  type Reply,
  type SeenCall,
} from './provider-harness.ts';

/** An answer with an error, as a vendor sends it. */
interface ErrorAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const openAiError = (status: number, message: string, names: object = {}): ErrorAnswer => ({
  status,
  body: { error: { message, type: 'invalid_request_error', param: null, code: null, ...names } },
});

const geminiError = (code: number, status: string, message: string, details: object[] = []): ErrorAnswer => ({
  status: code,
  body: [{ error: { code, message, status, details } }],
});

/** A prompt that does not fit the model, in the words of each vendor. */
export const TOO_LARGE: Readonly<Record<string, ErrorAnswer>> = {
  openai: openAiError(
    400,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens. Please reduce the length of the messages.",
    { param: 'messages', code: 'context_length_exceeded' },
  ),
  'openai, tokens per minute': openAiError(
    429,
    'Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 50000.',
    { type: 'tokens', code: 'rate_limit_exceeded' },
  ),
  azure: openAiError(
    400,
    "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion).",
    { code: 'context_length_exceeded' },
  ),
  vllm: {
    status: 400,
    body: {
      object: 'error',
      message:
        "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens. Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  },
  'vllm with the longest answer': {
    status: 400,
    body: {
      error: {
        message:
          "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 16384 tokens and your request has 9591 input tokens (8192 > 16384 - 9591).",
        type: 'BadRequestError',
        code: 400,
      },
    },
  },
  llamacpp: {
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14_429,
        n_ctx: 8192,
      },
    },
  },
  'llamacpp of 2025, with status 500': {
    status: 500,
    body: {
      error: {
        code: 500,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
      },
    },
  },
  'llamacpp inside of a 200': {
    status: 200,
    body: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
      },
    },
  },
  mistral: {
    status: 400,
    body: {
      object: 'error',
      message:
        'Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      param: null,
      code: '3051',
    },
  },
  gemini: geminiError(
    400,
    'INVALID_ARGUMENT',
    'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
  ),
  anthropic: {
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' },
    },
  },
  openrouter: {
    status: 400,
    body: {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"This endpoint\'s maximum context length is 8192 tokens."}}',
          provider_name: 'X',
        },
      },
    },
  },
  'a proxy': { status: 413, body: '<html><h1>413 Request Entity Too Large</h1></html>' },
};

/** A text that the vendor does not accept. */
export const FILTERED: Readonly<Record<string, ErrorAnswer>> = {
  azure: openAiError(
    400,
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
    {
      type: null,
      param: 'prompt',
      code: 'content_filter',
      status: 400,
      innererror: { code: 'ResponsibleAIPolicyViolation' },
    },
  ),
  openai: openAiError(400, 'Your request was rejected as a result of our safety system.', {
    code: 'content_policy_violation',
  }),
  'openrouter with moderation': {
    status: 403,
    body: { error: { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'] } } },
  },
  'azure inside of a 200': {
    status: 200,
    body: {
      id: 'x',
      choices: [{ finish_reason: 'content_filter', message: { role: 'assistant', content: '' } }],
    },
  },
  'openai with a refusal': {
    status: 200,
    body: {
      id: 'x',
      choices: [{ finish_reason: 'stop', message: { content: null, refusal: 'I cannot help with that' } }],
    },
  },
  'gemini, a stopped answer': {
    status: 200,
    body: { choices: [{ finish_reason: 'content_filter', index: 0, message: { role: 'assistant' } }] },
  },
  'gemini, a blocked prompt': {
    status: 200,
    body: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usage: {} },
  },
  'openrouter inside of a choice': {
    status: 200,
    body: {
      choices: [
        {
          finish_reason: 'error',
          error: { code: 403, message: 'flagged by the moderation' },
          message: { content: '' },
        },
      ],
    },
  },
};

/** Trouble of the account or the configuration: no other request can succeed. */
export const STOPPING: Readonly<
  Record<string, ErrorAnswer & { readonly code: string; readonly says: string }>
> = {
  'openai without quota': {
    ...openAiError(429, 'You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
    code: 'provider_account',
    says: 'check the plan and billing',
  },
  'openrouter without credits': {
    status: 402,
    body: { error: { message: 'This request requires more credits, or fewer max_tokens.', code: 402 } },
    code: 'provider_account',
    says: 'lower maxAnswerTokens',
  },
  'deepseek without balance': {
    status: 402,
    body: {
      error: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' },
    },
    code: 'provider_account',
    says: 'Insufficient Balance',
  },
  'anthropic without credit': {
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API.',
      },
    },
    code: 'provider_account',
    says: 'the account needs credit',
  },
  'openai with a wrong key': {
    ...openAiError(401, 'Incorrect API key provided: sk-x.', { code: 'invalid_api_key' }),
    code: 'provider_credentials',
    says: 'check tokenFile',
  },
  'gemini with a wrong key': {
    ...geminiError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
    code: 'provider_credentials',
    says: 'check tokenFile',
  },
  'openai without the model': {
    ...openAiError(404, 'The model `gpt-x` does not exist or you do not have access to it.', {
      code: 'model_not_found',
    }),
    code: 'provider_rejected',
    says: 'check model and url',
  },
  'ollama without the model': {
    status: 404,
    body: { error: { message: 'model "x" not found, try pulling it first', type: 'api_error' } },
    code: 'provider_rejected',
    says: 'check model and url',
  },
  'azure without the deployment': {
    ...openAiError(404, 'The API deployment for this resource does not exist.', {
      code: 'DeploymentNotFound',
    }),
    code: 'provider_rejected',
    says: 'check model and url',
  },
  'vllm with a model that is smaller than the answer': {
    ...openAiError(
      400,
      "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 123 input tokens.",
    ),
    code: 'provider_rejected',
    says: 'lower maxAnswerTokens',
  },
  'gemini with a member that it does not know': {
    ...geminiError(
      400,
      'INVALID_ARGUMENT',
      'Invalid JSON payload received. Unknown name "safety_settings": Cannot find field.',
    ),
    code: 'provider_rejected',
    says: 'check url, model',
  },
  'openai with too long an answer': {
    ...openAiError(400, 'max_tokens is too large: 8192. This model supports at most 4096 completion tokens.'),
    code: 'provider_rejected',
    says: 'lower maxAnswerTokens',
  },
};

/** Trouble that passes: the provider is asked again, and is out after three failures. */
export const PASSING: Readonly<Record<string, ErrorAnswer & { readonly code: string }>> = {
  'openai at its rate': {
    ...openAiError(429, 'Rate limit reached for gpt-x. Please try again in 1s.', {
      code: 'rate_limit_exceeded',
    }),
    code: 'provider_throttled',
  },
  'gemini at its rate': {
    ...geminiError(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.',
      [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }],
    ),
    code: 'provider_throttled',
  },
  'llamacpp that loads': {
    status: 503,
    body: { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    code: 'provider_error',
  },
  'ollama that is busy': {
    status: 503,
    body: { error: 'server busy, please try again.  maximum pending requests exceeded' },
    code: 'provider_error',
  },
  'anthropic overloaded': {
    status: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    code: 'provider_throttled',
  },
  'mistral in trouble': {
    status: 500,
    body: { object: 'error', message: 'Internal', type: 'internal' },
    code: 'provider_error',
  },
  'openrouter inside of a 200': {
    status: 200,
    body: { error: { message: 'Provider returned error', code: 502, metadata: { raw: 'upstream died' } } },
    code: 'provider_error',
  },
  'a page of a proxy inside of a 200': {
    status: 200,
    body: '<!DOCTYPE html><html>Welcome</html>',
    headers: { 'content-type': 'text/html' },
    code: 'provider_error',
  },
  'a page of a proxy': { status: 502, body: '<html>502 Bad Gateway</html>', code: 'provider_error' },
};

type Rows = Readonly<Record<string, { readonly s: string; readonly t: string }>>;

const asCompletion =
  (wrap: (rows: Rows) => unknown): Reply =>
  (call, response) => {
    sendJson(response, completion(wrap(goodRows(call))));
  };

const asMessage =
  (wrap: (text: string) => object): Reply =>
  (call, response) => {
    const message = wrap(JSON.stringify(goodRows(call)));
    sendJson(response, completion('', { message: { role: 'assistant', ...message } }));
  };

const listOf = (rows: Rows): object[] => Object.entries(rows).map(([id, row]) => ({ id, ...row }));

function sendEvents(call: SeenCall, response: ServerResponse): void {
  const text = JSON.stringify(goodRows(call));
  const parts = [text.slice(0, 9), text.slice(9)].map((content) => ({
    id: 'run-1',
    choices: [{ delta: { content } }],
  }));
  const last = {
    choices: [{ delta: {}, finish_reason: 'stop' }],
    usage: { prompt_tokens: 100, completion_tokens: 10 },
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(
    `: keep-alive\n\n${[...parts, last].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`,
  );
}

/** Good answers in the shapes in which they come. */
export const WRAPPINGS: Readonly<Record<string, Reply>> = {
  'as asked': asCompletion((rows) => rows),
  'content as a list of parts': asMessage((text) => ({
    content: [
      { type: 'text', text: text.slice(0, 5) },
      { type: 'text', text: text.slice(5) },
    ],
  })),
  'mistral: a part with the reasoning': asMessage((text) => ({
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Maybe {"u1": {"s": "x", "t": "wrong"}}' }] },
      { type: 'text', text },
    ],
  })),
  'deepseek: reasoning beside the text': asMessage((content) => ({
    content,
    reasoning_content: 'Hm. {"u1": 1}',
  })),
  'vllm: everything in the reasoning': asMessage((text) => ({ content: null, reasoning_content: text })),
  'qwen: reasoning inside of the text': asMessage((text) => ({
    content: `<think>First {"u1": {"s": "x", "t": "draft"}}</think>\n${text}`,
  })),
  'a reasoning without its beginning': asMessage((text) => ({
    content: `so {"u1": 1} it is</think>${text}`,
  })),
  'code fences': asCompletion((rows) => `\`\`\`json\n${JSON.stringify(rows, null, 2)}\n\`\`\``),
  'text around JSON': asCompletion((rows) => `Here you are [1]: ${JSON.stringify(rows)} {Enjoy!}`),
  'commas at the end': asCompletion((rows) =>
    JSON.stringify(rows).replaceAll('}', ',}').replace(/,\}$/, ', }'),
  ),
  'two objects': asCompletion((rows) => {
    const [first, ...others] = Object.entries(rows);
    return `${JSON.stringify(Object.fromEntries([first!]))}\n${JSON.stringify(Object.fromEntries(others))}`;
  }),
  'an object for each row': asCompletion((rows) =>
    listOf(rows)
      .map((row) => JSON.stringify(row))
      .join('\n'),
  ),
  'the same object twice, with a number that no number of JavaScript can be': asCompletion((rows) =>
    JSON.stringify(rows).replaceAll('"s":', '"n":12345678901234567,"s":').repeat(2),
  ),
  'the same object twice': asCompletion((rows) => JSON.stringify(rows).repeat(2)),
  'a list of rows': asCompletion(listOf),
  'a list in an object': asCompletion((rows) => ({ translations: listOf(rows) })),
  'an object around the rows': asCompletion((rows) => ({ result: rows })),
  'events that nobody asked for': sendEvents,
  'a list around the completion': (call, response) => {
    sendJson(response, [completion(goodRows(call))]);
  },
  'JSON declared as text': (call, response) => {
    sendJson(response, completion(goodRows(call)), 200, { 'content-type': 'text/plain' });
  },
};

/** Answers with an error. */
export function failing({ status, body, headers = {} }: ErrorAnswer): Reply {
  return (_call, response) => {
    sendJson(response, body, status, headers);
  };
}

/** Answers well, except for requests with one text. */
export function failingFor(text: string, answer: ErrorAnswer): Reply {
  return (call, response, request) => {
    const isBad = linesOf(call).some((line) => line.text === text);
    (isBad ? failing(answer) : GOOD)(call, response, request);
  };
}

/** Answers as asked. */
export const GOOD: Reply = asCompletion((rows) => rows);

/** A server of chat completions whose behaviour a test switches. */
interface ChatServer extends OpenedProvider {
  readonly url: string;
  readonly calls: readonly SeenCall[];
  /** How many lines each request had. */
  readonly sizes: () => readonly number[];
  readonly behave: (reply: Reply) => void;
}

/** Starts a server on loopback, and opens a provider for it. */
export async function startChatServer(first: Reply, settings: object = {}): Promise<ChatServer> {
  let reply = first;
  const { url, calls } = await startProviderServer((...call) => {
    reply(...call);
  });
  const config = { kind: 'openai', url: `${url}/v1`, model: 'm', allowHosts: ['127.0.0.1'], ...settings };
  return {
    ...(await openProvider(config)),
    url,
    calls,
    sizes: () => calls.map((call) => linesOf(call).length),
    behave: (next) => {
      reply = next;
    },
  };
}
