import { stringify } from 'yaml';
import type { z } from 'zod';
import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import type { JsonSchema } from '../../src/contract/json/json-schema.ts';
import { renderComponents } from './openapi-components.ts';
import { problem, type AnswerDefinition } from '../../src/contract/operations/operation-definition.ts';
import { INTERFACE_VERSION, listOperations } from '../../src/contract/operations/operations.ts';
import { UNREADY_EXAMPLE } from './example-answers.ts';
import { exampleOf } from './examples.ts';
import { CDN_RESPONSE_HEADERS, operationParameters } from './openapi-parameters.ts';
import { PROBLEM_TYPE_BASE } from '../../src/contract/problems/problem-links.ts';
import { ProblemSchema } from '../../src/contract/problems/problem-schema.ts';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems/problems.ts';
import { ControlBodySchema } from '../../src/contract/actions/control-body.ts';
import { ManifestEntrySchema } from '../../src/contract/schemas/answers/distribution.ts';
import { GlossaryTermSchema } from '../../src/contract/reports/report-glossary.ts';
import { MemoryRecordSchema } from '../../src/contract/reports/report-memory.ts';
import { ReleaseRowSchema } from '../../src/contract/schemas/answers/release-row.ts';
import { ScheduleSchema } from '../../src/contract/reports/report-schedules.ts';
import { TranslationTaskSchema } from '../../src/contract/reports/report-translation.ts';
import { TaskSchema } from '../../src/contract/reports/report-daemon.ts';
import { ReleaseSummarySchema } from '../../src/contract/schemas/answers/release.ts';
import { ReadinessAnswer, VerdictSchema } from '../../src/contract/schemas/answers/verdict.ts';
import { ANY_MEDIA_TYPE, JSON_MEDIA_TYPE, PROBLEM_MEDIA_TYPE } from '../../src/contract/json/media-types.ts';

const TAGS = [
  { name: 'Health', description: 'Liveness and readiness.' },
  { name: 'Release', description: 'Bootstrap, the current release, its history and its manifest.' },
  { name: 'Launcher', description: 'Endpoints for existing launchers.' },
  { name: 'CDN', description: 'Resource bytes.' },
  { name: 'Service', description: 'The service itself.' },
  { name: 'Admin', description: 'Reports of the daemon.' },
  { name: 'Control', description: 'Actions of the daemon.' },
] as const;

/** The document declares the token for all operations except the console, as its interface demands. */
const OPEN_READS =
  'Public reads (everything outside `/admin`) need no token by default; `auth.public: token` requires one for them, and probes and `/api/launcher` never need one.';

const SECURITY_SCHEMES = {
  bearerToken: {
    type: 'http',
    scheme: 'bearer',
    description: `\`Authorization: Bearer <ADMIN_TOKEN>\`. ${OPEN_READS}`,
  },
  queryToken: {
    type: 'apiKey',
    in: 'query',
    name: 'svc_token',
    description: `\`?svc_token=<ADMIN_TOKEN>\`, for links; the server removes it before it logs or forwards the URL. ${OPEN_READS}`,
  },
} as const;

/** Either scheme is enough. */
const SECURITY_REQUIREMENT = [{ bearerToken: [] }, { queryToken: [] }];

type Json = Record<string, unknown>;
type Operation = ReturnType<typeof listOperations>[number];

/** Schemas that others refer to by name. */
const SHARED: ReadonlyArray<readonly [string, z.ZodType]> = [
  ['Problem', ProblemSchema],
  ['ControlBody', ControlBodySchema],
  ['Verdict', VerdictSchema],
  ['ReleaseSummary', ReleaseSummarySchema],
  ['ReleaseRow', ReleaseRowSchema],
  ['ManifestEntry', ManifestEntrySchema],
  ['Task', TaskSchema],
  ['Schedule', ScheduleSchema],
  ['TranslationTask', TranslationTaskSchema],
  ['MemoryRecord', MemoryRecordSchema],
  ['GlossaryTerm', GlossaryTermSchema],
];

/** How every operation refuses a request head above the limit, by status. */
const REFUSED_HEADS: Readonly<Record<string, { readonly name: string; readonly answer: AnswerDefinition }>> =
  {
    414: { name: 'UriTooLong', answer: problem('The path and the query are too long.', 'uri_too_long') },
    431: {
      name: 'HeadersTooLarge',
      answer: problem('The header fields are too large.', 'headers_too_large'),
    },
  };

const REQUEST_ID = '01KAJ2X6V5Q0E8T9R3W7Y1Z4BD';

/** Builds the OpenAPI document of the service from the operation table. Source: OpenAPI Specification 3.0.3. */
export function buildOpenApi(): Json {
  const operations = listOperations();
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: renderOperation(operation) };
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Slipway',
      version: INTERFACE_VERSION,
      description:
        'Resource bootstrap, distribution of verified releases, launcher compatibility, CDN-shaped delivery, and ' +
        'authenticated admin reads and control. Routes outside `/admin` need no token unless the server is ' +
        'configured to require one; `/healthz`, `/readyz` and `/api/launcher` never do. Any other path gives 404 ' +
        '`not_found`, any other method 405 `method_not_allowed` with `Allow`.',
      contact: { name: 'Slipway', url: 'https://slipway.dev' },
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/', description: 'The server that sent this document.' }],
    security: SECURITY_REQUIREMENT,
    tags: TAGS,
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      responses: Object.fromEntries(
        Object.values(REFUSED_HEADS).map(({ name, answer }) => [
          name,
          { description: answer.description, ...renderContent(answer) },
        ]),
      ),
      schemas: renderSchemas(operations),
    },
  };
}

/** Renders {@link buildOpenApi} as YAML; the same text for the same contract. */
export function renderOpenApiYaml(): string {
  return stringify(buildOpenApi(), { lineWidth: 0, aliasDuplicateObjects: false });
}

function renderOperation(operation: Operation): Json {
  const parameters = operationParameters(operation);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: describe(operation),
    ...(operation.path === '/admin/dashboard/' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.body === undefined ? {} : { requestBody: controlRequestBody() }),
    responses: Object.fromEntries(
      Object.entries(operation.answers)
        .map(([status, each]) => [status, renderAnswer(each, operation, status)])
        .concat(
          Object.entries(REFUSED_HEADS).map(([status, { name }]) => [
            status,
            { $ref: `#/components/responses/${name}` },
          ]),
        ),
    ),
  };
}

function describe(operation: Operation): string {
  const { daemon } = operation;
  if (daemon === undefined) return operation.summary;
  if ('control' in daemon) {
    return `${operation.summary} Actions: ${CONTROL_ACTIONS.map((action) => `\`${action}\``).join(', ')}.`;
  }
  return `${operation.summary} From the daemon report \`${daemon.report}\`.`;
}

function renderAnswer(answer: AnswerDefinition, operation: Operation, status: string): Json {
  const headers = operation.tag === 'CDN' ? CDN_RESPONSE_HEADERS[status] : undefined;
  return {
    description: answer.description,
    ...(headers === undefined ? {} : { headers }),
    ...renderContent(answer, status),
  };
}

function renderContent(answer: AnswerDefinition, status = ''): Json {
  if (answer.kind === 'json') {
    const example =
      answer.answer === ReadinessAnswer && status === '503' ? UNREADY_EXAMPLE : exampleOf(answer.answer);
    return { content: { [JSON_MEDIA_TYPE]: { schema: reference(answer.name), example } } };
  }
  if (answer.kind === 'problem') {
    const examples = answer.codes.map((code) => [code, { value: problemExample(code) }]);
    return {
      content: {
        [PROBLEM_MEDIA_TYPE]: { schema: reference('Problem'), examples: Object.fromEntries(examples) },
      },
    };
  }
  if (answer.kind === 'content') {
    const binary = answer.mediaType === ANY_MEDIA_TYPE;
    const schema = { type: 'string', ...(binary ? { format: 'binary' } : {}) };
    return { content: { [answer.mediaType]: { schema } } };
  }
  return {};
}

function problemExample(code: ProblemCode): z.input<typeof ProblemSchema> {
  const { status, title, description } = PROBLEMS[code];
  return {
    type: `${PROBLEM_TYPE_BASE}${code}`,
    title,
    status,
    detail: description,
    instance: REQUEST_ID,
    code,
    ...(code === 'invalid_request'
      ? { errors: [{ pointer: 'limit', message: 'must be an integer from 1 to 1000, in decimal digits' }] }
      : {}),
    ...(code === 'not_distributable' || code === 'release_not_distributable'
      ? { reason: 'EntryDamaged' as const }
      : {}),
    ...(code === 'daemon_rejected' ? { daemon: { status: 409, code: 'task_already_terminal' } } : {}),
  };
}

function controlRequestBody(): Json {
  return {
    required: false,
    description:
      'Fields that the action does not use are listed in `ignored_fields` of the answer. `null` counts as no body.',
    content: {
      [JSON_MEDIA_TYPE]: {
        schema: { type: 'object', nullable: true, allOf: [reference('ControlBody')] },
        example: { force: true, reason: 'new upstream' },
      },
    },
  };
}

function renderSchemas(operations: readonly Operation[]): Record<string, JsonSchema> {
  const named = new Map<string, z.ZodType>(SHARED);
  for (const { answers } of operations) {
    for (const each of Object.values(answers))
      if (each.kind === 'json') named.set(each.name, each.answer.schema);
  }
  const rendered = Object.entries(renderComponents(named));
  return Object.fromEntries(rendered.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}
