import {
  TOO_MANY_REQUESTS,
  content,
  empty,
  json,
  problem,
  type OperationDefinition,
} from './operation-definition.ts';
import { ANY_MEDIA_TYPE } from '../json/media-types.ts';
import { DistributionAnswer, ResourcesAnswer, ServerInfoAnswer } from '../schemas/answers/distribution.ts';
import { HealthAnswer } from '../schemas/answers/health.ts';
import {
  LauncherBootstrapAnswer,
  LauncherCdnAnswer,
  LauncherConfigJsonAnswer,
  LauncherGameConfigAnswer,
} from '../schemas/answers/launcher.ts';
import { BootstrapAnswer, ReleaseAnswer, ReleasesAnswer } from '../schemas/answers/release.ts';
import { ReadinessAnswer } from '../schemas/answers/verdict.ts';
import {
  AnyQuery,
  DistributionQuery,
  LauncherConfigJsonQuery,
  PageQuery,
  PublicReleasesQuery,
  ReadinessQuery,
} from '../schemas/query.ts';

const OPEN = { method: 'get', query: AnyQuery, auth: 'none', tolerateUnknownQuery: true } as const;
const PUBLIC = { ...OPEN, auth: 'public' } as const;

const INVALID = problem('A parameter is malformed or out of bounds.', 'invalid_request');
const UNAUTHENTICATED = problem(
  'The server requires a token here, and it is missing or invalid.',
  'not_authenticated',
);
const NOT_DISTRIBUTABLE = problem('The current release is not distributable.', 'not_distributable');
const RELEASE_BACKEND_DOWN = problem('The daemon release backend is unavailable.', 'backend_unavailable');

/** Health, release, distribution, launcher and CDN operations. */
export const PUBLIC_OPERATIONS = {
  getHealth: {
    ...OPEN,
    path: '/healthz',
    tag: 'Health',
    summary: 'Liveness and refresh diagnostics.',
    answers: { 200: json('Health', HealthAnswer, 'The process is alive.') },
  },
  getReadiness: {
    ...OPEN,
    path: '/readyz',
    tag: 'Health',
    summary: 'Readiness: the verdict on the official channel.',
    query: ReadinessQuery,
    answers: {
      200: json(
        'Readiness',
        ReadinessAnswer,
        'A current official release, authorized by the attestation, is fully represented by the local snapshot.',
      ),
      503: json(
        'Readiness',
        ReadinessAnswer,
        'The attestation is unavailable, stale or invalid, or the snapshot is not distributable.',
      ),
    },
  },
  getBootstrap: {
    ...PUBLIC,
    path: '/v1/bootstrap',
    tag: 'Release',
    summary: 'Startup data for clients, with the distribution health.',
    answers: {
      200: json('Bootstrap', BootstrapAnswer, 'The current release is distributable.'),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      503: NOT_DISTRIBUTABLE,
    },
  },
  getLauncherBootstrap: {
    ...PUBLIC,
    path: '/v1/launcher/bootstrap',
    tag: 'Launcher',
    summary: 'The bootstrap in the format of launchers, with the distribution health.',
    answers: {
      200: json('LauncherBootstrap', LauncherBootstrapAnswer, 'The current release is distributable.'),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      503: NOT_DISTRIBUTABLE,
    },
  },
  getLauncherGameConfig: {
    ...OPEN,
    path: '/api/launcher/game/config',
    tag: 'Launcher',
    summary: 'Launcher envelope with resource metadata.',
    answers: { 200: json('LauncherGameConfig', LauncherGameConfigAnswer, 'The envelope.') },
  },
  getLauncherConfigJson: {
    ...OPEN,
    path: '/api/launcher/game/config/json',
    tag: 'Launcher',
    summary: 'Launcher envelope that points to the bootstrap JSON.',
    query: LauncherConfigJsonQuery,
    answers: { 200: json('LauncherConfigJson', LauncherConfigJsonAnswer, 'The envelope.') },
  },
  getLauncherCdn: {
    ...OPEN,
    path: '/api/launcher/advanced/game/download/cdn',
    tag: 'Launcher',
    summary: 'Launcher envelope with the public base URL as CDN root.',
    answers: { 200: json('LauncherCdn', LauncherCdnAnswer, 'The envelope.') },
  },
  getRelease: {
    ...PUBLIC,
    path: '/v1/release',
    tag: 'Release',
    summary: 'The current release and its distribution health.',
    answers: {
      200: json(
        'CurrentRelease',
        ReleaseAnswer,
        'The current release, distributable or not, and the attestation that names it. It has a weak entity tag.',
      ),
      304: empty('The copy the client holds is current.'),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
    },
  },
  listReleases: {
    ...PUBLIC,
    path: '/v1/releases',
    tag: 'Release',
    summary: 'Release history with manifest and artifact integrity.',
    query: PublicReleasesQuery,
    daemon: { report: 'release.list' },
    answers: {
      200: json('Releases', ReleasesAnswer, 'The history, newest first.'),
      400: INVALID,
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      503: RELEASE_BACKEND_DOWN,
    },
  },
  getDistribution: {
    ...PUBLIC,
    path: '/v1/distribution',
    tag: 'Release',
    summary: 'A verified release and a page of its manifest, or one entry whose bytes are verified again.',
    query: DistributionQuery,
    daemon: { report: 'release.status' },
    answers: {
      200: json('Distribution', DistributionAnswer, 'The selected release is distributable.'),
      400: INVALID,
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      404: problem('The release has no entry with this destination.', 'unknown_destination'),
      409: problem(
        'The selected release is missing, stale, damaged or not distributable.',
        'release_not_distributable',
      ),
      503: RELEASE_BACKEND_DOWN,
    },
  },
  listResources: {
    ...PUBLIC,
    path: '/v1/resources',
    tag: 'Release',
    summary: 'A page of the resource manifest of the current release.',
    query: PageQuery,
    answers: {
      200: json('Resources', ResourcesAnswer, 'The page.'),
      400: INVALID,
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      503: NOT_DISTRIBUTABLE,
    },
  },
  getServerInfo: {
    ...PUBLIC,
    path: '/v1/server-info',
    tag: 'Release',
    summary: 'The server-info document with every `AddressablesCatalogUrlRoot` pointing at this service.',
    answers: {
      200: json('ServerInfo', ServerInfoAnswer, 'The document.'),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      404: problem('The release has no server-info document.', 'no_server_info'),
      503: NOT_DISTRIBUTABLE,
    },
  },
  getOpenApi: {
    ...PUBLIC,
    path: '/openapi.yaml',
    tag: 'Service',
    summary: 'This document.',
    answers: {
      200: content('application/yaml', 'OpenAPI 3.0.3.'),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
    },
  },
  getResource: {
    ...PUBLIC,
    path: '/{cdn_host}/{path}',
    tag: 'CDN',
    summary: 'The bytes of a resource, whole or in part.',
    answers: {
      200: content(ANY_MEDIA_TYPE, 'The bytes, in the media type of the resource.'),
      206: content(ANY_MEDIA_TYPE, 'The requested part; several ranges as `multipart/byteranges`.'),
      304: empty('The copy the client holds is current.'),
      401: UNAUTHENTICATED,
      429: TOO_MANY_REQUESTS,
      404: problem('The release or the destination is not served.', 'unknown_destination'),
      412: problem('A precondition of the request failed.', 'precondition_failed'),
      416: problem('No requested range lies inside the resource.', 'range_not_satisfiable'),
      503: problem(
        'The release must not be served now, or a limit is reached.',
        'not_distributable',
        'overloaded',
      ),
    },
  },
  headResource: {
    ...PUBLIC,
    method: 'head',
    path: '/{cdn_host}/{path}',
    tag: 'CDN',
    summary: 'The headers of a resource.',
    answers: {
      200: empty('The headers that GET would send.'),
      304: empty('The copy the client holds is current.'),
      401: empty('The server requires a token here, and it is missing or invalid.'),
      404: empty('The release or the destination is not served.'),
      412: empty('A precondition of the request failed.'),
      429: empty('The token has reached a limit; `Retry-After` says when to ask again.'),
      503: empty('The release must not be served now.'),
    },
  },
} as const satisfies Record<string, OperationDefinition>;
