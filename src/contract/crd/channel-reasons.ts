/**
 * Reasons of ReleaseChannel conditions beyond those of a verdict (`src/domain/verdict/reasons.ts`): what the operator found on
 * its own way to the pods. The text says what it means and what to do.
 */
export const CHANNEL_REASONS = {
  Distributable: 'Every pod serves the same attested, fully represented release that the spec asks for.',
  Healthy: 'Every pod serves the channel, and nothing needs attention.',
  StateUnknown: 'Not every pod has told the state of its service.',
  Passed: 'Every pod with fresh evidence passed the checks of this stage.',
  Serving: 'At least one pod serves the channel.',
  UpToDate: 'Nothing is left to do.',
  NotStalled: 'No manual action is needed.',
  Suspended:
    'spec.suspend is set: the schedules are disabled and no action is taken; verdicts are still reported.',
  ServiceNotFound:
    'The Service of spec.serverRef does not exist in this namespace. Create it or correct the name.',
  PortNotFound: 'The Service of spec.serverRef has no such port. Correct spec.serverRef.port.',
  TokenSecretNotFound:
    'The Secret of spec.adminTokenSecretRef, or its key, does not exist or is empty. Create it or correct the reference.',
  TokenSecretForbidden:
    'The operator may not read the Secret of spec.adminTokenSecretRef. Grant it get on secrets.',
  TokenMalformed:
    'The value in the Secret of spec.adminTokenSecretRef is not a token: it must be one line of letters, digits and -._~+/=.',
  TokenRejected: 'A server rejected the admin token. Put the token of the server into the Secret.',
  ControlNotExposed:
    'A server does not forward control actions. Set admin.exposeControl and an admin token on the server.',
  ActionRejected: 'A daemon rejected an action; the message has its code. Correct the spec or the daemon.',
  ReleaseUnknown:
    'No daemon knows the release in spec.release. Correct the name, or wait until the release is available.',
  PinNotSupported:
    'spec.release names an earlier official release, and no action can make it current again. Remove the pin.',
  NothingPublished:
    'No localized release is published and spec.release names none, so there is nothing to serve. This is not a failure.',
  ChannelTaken:
    'An older ReleaseChannel, which the message names, represents the same channel of the same server, directly or through another Service of its pods. Delete one of them.',
  NoPods: 'The Service has no pods. Check its selector and the Deployment.',
  EndpointNotReady:
    'A pod is not ready, so the Service sends it no requests. Check its containers and probes.',
  PodUnreachable:
    'A pod has not given a usable answer for too long, so its state is unknown. Check the pod and the network.',
  PodsDiffer: 'The pods serve different releases. This is normal for a moment during a release switch.',
  AdminUnavailable: 'A daemon could not be reached; the operator retries. Serving continues.',
  DaemonCrashLoop:
    'A daemon crashes repeatedly. Serving continues. Check the log of its container and the doctor check `process`.',
  TaskFailed:
    'The task that should make spec.release current failed. Check its log; change the spec or the annotation to retry.',
  ReleaseChanging:
    'The daemon is still making spec.release current, or the pods still serve the release before.',
  PinOutdated:
    'spec.release names a localized release of an earlier official release, which cannot be served again. Name one of the current official release, or remove the pin.',
  ReleaseRolledBack:
    'spec.release names a localized release, and a rollback has withdrawn the channel or has put the units of that release on hold. Fix the cause, review the units on hold, then publish with args=resume=true.',
  ChannelMirrored:
    'The localized channel of this server is copied from an origin, where it is translated and published. Choose its release at the origin, and remove spec.release here.',
  TextsNotReady:
    'The translation tasks of the current official release are not built yet. Wait; if it lasts, check that localization is enabled and the log of the tasks `parse` and `task-build`.',
  BaseCurrent: 'The localized release is built on the current official one.',
  Complete: 'Every unit that is not skipped is translated as far as localized.minState demands.',
  Incomplete: 'Some units would keep the official text; the message counts them. Translate or review them.',
  RequestInProgress:
    'The task that the annotation slipway.dev/requestedAt asked for has not ended, or the pods do not serve its result yet.',
  EveryFieldWritten: 'The ReleaseChannel definition in the cluster takes the whole status.',
  DefinitionLacksFields:
    'The ReleaseChannel definition (CRD) in the cluster is of another version than the operator. The fields that it lacks, which the message names, are left out of the status. Apply the definition of the version of the operator.',
  DefinitionUnknown:
    'The operator could not read the schema of ReleaseChannel from the API server (/openapi/v3). It writes the whole status, which a definition of another version may refuse. Grant it get on /openapi/*.',
  NothingBlocks: 'No unit of the current official release has a blocking finding.',
  PublishBlocked:
    'Units with blocking findings prevent a publication; the message counts them. Correct them, or accept the findings.',
} as const;

export type ChannelReason = keyof typeof CHANNEL_REASONS;

/** The types of the conditions that every object has, in the order in which they are reported, and what True means. */
export const CONDITION_TYPES = {
  Ready: 'Every pod serves the same sound release, and everything the spec asks for is in place.',
  Reconciling: 'The operator is working on it, or waits for a temporary condition to clear.',
  Stalled: 'Progress requires a manual change.',
  Attested: 'A valid attestation authorizes a release of the channel.',
  SnapshotBound: 'The manifest of that release is on the volume, complete and as attested.',
  Represented: 'Every entry of the release is on the volume, and none is known to be damaged.',
  Serving: 'A client of the Service gets the channel: a pod that serves it takes requests.',
  Healthy:
    'Every pod says that its service is healthy; if not, the reason is the first cause, and the message has the next step.',
  StatusComplete:
    'The definition in the cluster takes every field of the status; if not, the message names what is missing.',
} as const;

/** The types of the conditions that only an object with `channel: localized` has. They do not change its readiness. */
export const LOCALIZED_CONDITION_TYPES = {
  BaseCurrent: 'The localized release is built on the current official one.',
  Translated: 'The current official release is translated as far as localized.minState demands.',
  Publishable: 'Nothing prevents the publication of a localized release.',
} as const;

/** A type of a condition that only a localized channel has. */
export type LocalizedConditionType = keyof typeof LOCALIZED_CONDITION_TYPES;

export type ConditionType = keyof typeof CONDITION_TYPES | LocalizedConditionType;
