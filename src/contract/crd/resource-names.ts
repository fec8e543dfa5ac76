/** API group of Slipway's own kinds. */
export const API_GROUP = 'slipway.dev';

/** The served and stored version. */
export const API_VERSION = 'v1alpha1';

/** `apiVersion` of an object. */
export const GROUP_VERSION = `${API_GROUP}/${API_VERSION}`;

/** `kind` of an object. */
export const RELEASE_CHANNEL_KIND = 'ReleaseChannel';

/** The name in URLs and in RBAC rules. */
export const RELEASE_CHANNEL_PLURAL = 'releasechannels';

/** A new value of this annotation requests an immediate reconciliation, and a sync of an official channel. */
export const REQUESTED_AT_ANNOTATION = `${API_GROUP}/requestedAt`;

/** Longest value of {@link REQUESTED_AT_ANNOTATION} that is compared, characters. */
export const REQUESTED_AT_MAX = 128;

/**
 * Annotation of a Service of the admin surface: `SECRET/KEY` of a token for it, in the same namespace. The Secret has a label of the
 * same name with the value `true`, because who may write a Service must not choose any Secret.
 */
export const ADMIN_TOKEN_MARK = `${API_GROUP}/admin-token`;

/** Label of the Service of edges; its value is the name of a Service of their origin, in the same namespace. */
export const EDGES_OF_LABEL = `${API_GROUP}/edges-of`;
