/** A phrase to replace, in prose or in identifiers. */
export interface Phrase {
  /** A space matches any white space. The case of letters is ignored, unless the pattern has the flag `v`. */
  readonly pattern: RegExp
  /** What to write instead. */
  readonly instead: string
  /** Examples that the pattern matches, and similar ones that it does not. */
  readonly found: readonly string[]
  readonly allowed: readonly string[]
}

/** Phrases to replace in comments, strings, test names and docs. */
export const phrases: readonly Phrase[] = [
  {
    pattern: /\b(un)?told\b|\btells\b/,
    instead: 'reports, shows, lists, returns, logs, warns',
    found: ['How much is not loaded is told as before.', 'Told is what failed', 'The log tells more'],
    allowed: ['too early to tell', 'a storyteller'],
  },
  {
    pattern: /\bas many of the\b/,
    instead: 'number of lines; the last N',
    found: ['as many of the last lines'],
    allowed: ['as many as fit', 'Many of the last lines'],
  },
  {
    pattern: /\bat the (most|least)\b/,
    instead: 'at most, at least',
    found: ['Connections to the metadata store at the most.', 'at the least 3'],
    allowed: ['at most 3', 'at most times'],
  },
  {
    pattern: /\b(processor|computing) time\b/,
    instead: 'CPU time',
    found: ['an hour per second of processor time', 'computing time'],
    allowed: ['the processor, time and again', 'CPU time'],
  },
  {
    pattern: /\b(likewise|thereby|hence|thus|whereby|wherein|thereof|herein|whilst|amongst|upon)\b/,
    instead: 'also; so, that is why; by which; in which; while; among; on',
    found: ['Of erased segments likewise', 'hence it waits', 'upon a request'],
    allowed: ['also', 'thusly', 'hereinafter'],
  },
  {
    pattern: /\brecorded system\b/,
    instead: 'Druid 37',
    found: ['as the recorded\nsystem has it'],
    allowed: ['a recorded answer'],
  },
  {
    pattern: /\btheirs\b/,
    instead: "Druid's, or name the owner",
    found: ['every method of theirs'],
    allowed: ['their method'],
  },
  {
    pattern: /\bin the end\b/,
    instead: 'finally, at the end',
    found: ['and in the end moves within tiers'],
    allowed: ['at the end'],
  },
  {
    pattern: /\bby turns\b|\bin turns\b/,
    instead: 'alternating, in turn',
    found: ['Both run by turns'],
    allowed: ['by turning', 'in turn'],
  },
  {
    pattern: /\bin earnest\b/,
    instead: 'in production',
    found: ['in earnest they come from your own authority'],
    allowed: ['in production'],
  },
  {
    pattern: /\bfor a trial\b/,
    instead: 'to try it out',
    found: ['Certificates for a trial, on one machine'],
    allowed: ['a trial run'],
  },
  {
    pattern: /\b(go|goes|went|going) on\b(?! to\b)(?! [a-z]+ing\b)|\blets? (it|them|[a-z]+) go on\b/,
    instead: 'continues, resumes',
    found: ['The broker goes on.', 'work went on'],
    allowed: ['It goes on to the next one', 'an ongoing request'],
  },
  {
    pattern: /\b(stands?|stood|standing) in\b(?! for\b)/,
    instead: 'is in, is stored in',
    found: ['The status of each stands in one table'],
    allowed: ['A fake that stands in for Redis', 'a standing instruction'],
  },
  {
    pattern: /\b(lies?|lay|lying|lain) (on|in|at|under|below|beside)\b/,
    instead: 'is in, is on, is stored in',
    found: ['which segments lie on which tier', 'what lies in a cache'],
    allowed: ['the interval lies within the year', 'replies in time'],
  },
  {
    pattern: /\bunder way\b/,
    instead: 'in progress, in flight, running',
    found: ['a query that is under way'],
    allowed: ['under any circumstances'],
  },
  {
    pattern: /\b(is|are|was|were|be|been|being) given up\b|\bor given up\b/,
    instead: 'is canceled, is abandoned, times out',
    found: ['until it is given up'],
    allowed: ['gives up after three attempts'],
  },
  {
    pattern: /\b(leads?|led) no longer\b|\bno longer leads?\b|\bleads now\b/,
    instead: 'lost leadership, is no longer the leader, became leader',
    found: ['a server that leads no longer', 'This server no longer leads the role'],
    allowed: ['is no longer the leader'],
  },
  {
    pattern: /\b(is|are|was|were|been|be|being) asked (for|of)\b|\b(was|is) asked[.,;]/,
    instead: 'is requested, was queried',
    found: ['in the order that was asked for', 'What is to be asked of the servers'],
    allowed: ['asks for a password'],
  },
  {
    pattern: /\b(cannot|could not|can|could) be asked\b/,
    instead: 'is unreachable, does not respond',
    found: ['No coordinator can be asked'],
    allowed: ['cannot be reached'],
  },
  {
    pattern: /\b(does|do|did) not hold(?= ?[.;,:)(|\0]| (for|at)\b|$)/,
    instead: 'is invalid, is not valid, has expired',
    found: ['The credentials are missing or do not hold', 'one that does not hold, is refused'],
    allowed: ['It does not hold the lock'],
  },
  {
    pattern: /\bmark(s|ed|ing)? ((it|them|segments?) )?(un)?used\b/,
    instead: 'marks as used, marked as unused',
    found: ['Segments that are marked unused', 'a drop rule marks them unused'],
    allowed: ['marked as unused', 'the command mark-used'],
  },
  {
    pattern: /\b(is|are|was|were|be) void\b/,
    instead: 'is ignored, is discarded',
    found: ['one from a former leader is void'],
    allowed: ['avoid', 'returns void'],
  },
  {
    pattern: /\b(falls?|fell|fallen|goes|went|gone) silent\b/,
    instead: 'stopped responding, missed its heartbeats',
    found: ['A server went silent'],
    allowed: ['a silent install'],
  },
  {
    pattern:
      /\b(?:(?!there|it|this)[a-z]+|who|which|that|it|this) (is|are) no (?!longer|more|less|different|other|better|such|need|way|reason|use|exception|guarantee|point|risk|limit\b)[a-z]+/,
    instead: 'is not a …, is not valid',
    found: ['it is no number', 'a file that is no list', 'The query is no SELECT'],
    allowed: ['there is no server', 'it is no longer used'],
  },
  {
    pattern: /\b(can|may|could|cannot) be had\b/,
    instead: 'is available, can be fetched',
    found: ['where it can be had'],
    allowed: ['can be handled'],
  },
  {
    pattern: /\b(brought|brings|bringing)\b(?![^.;:]{0,60} (to|up|into|back|down|together)\b)/,
    instead: 'downloads, installs, provides',
    found: ['brings what is missing', 'Brought dependencies'],
    allowed: ['brings the store up to date', 'brings it back'],
  },
  {
    pattern: /\b(the like|alike)\b/,
    instead: 'similar, the equivalent, both',
    found: ['FLOOR and the like', 'aggregates and subqueries alike'],
    allowed: ['the likely cause'],
  },
  {
    pattern: /\bat rest\b(?<!encrypt(ed|ion) at rest)/,
    instead: 'idle, when idle',
    found: ['a machine otherwise at rest'],
    allowed: ['encrypted at rest', 'look at restarts'],
  },
  {
    pattern: /\bfrom (when|which|where) on\b|\b(until|since) when\b/,
    instead: 'from, starting at, the time until which',
    found: [
      'the transaction from which on changes are read',
      'says from when on it waits',
      'until when they do',
    ],
    allowed: [
      'the transaction from which changes are read',
      'from then on',
      'since this morning, when it failed',
    ],
  },
  {
    pattern: /, also (if|when|while|after|before|behind|within|without|on)\b/,
    instead: 'even if, even when, including',
    found: ['The paths are those of svc, also if the cluster is from Druid', 'is gone, also after a restart'],
    allowed: [
      'It also stops if the file is missing',
      'also available on other ports',
      'even after a restart',
    ],
  },
  {
    pattern: /\b(is|are|was|were) to be [a-z]+(ed|en|ade|ept|ent|een|one)\b/,
    instead: 'must be, should be, will be',
    found: ['What is to be compacted', 'what is to be kept'],
    allowed: ['has to be'],
  },
  {
    pattern: /\b(strangers?|somebody|whoever|whomever)\b/,
    instead: 'a user, the caller, an unauthenticated caller',
    found: ['Whoever leaves', 'somebody has to log in'],
    allowed: ['strangely', 'someone else'],
  },
  {
    pattern: /\b(strikes?|struck|striking)\b/,
    instead: 'affects, applies to, injects a fault into',
    found: ['A kill that strikes a server once'],
    allowed: ['a stroke', 'strikethrough'],
  },
  {
    pattern: /\b(spoil|spoils|spoilt|spoiled|spoiling)\b/,
    instead: 'breaks, corrupts, injects faults into',
    found: ['work while they are spoilt'],
    allowed: ['a spoiler'],
  },
  {
    pattern: /\banew\b/,
    instead: 'again, new',
    found: ['issue certificates anew'],
    allowed: ['a new one'],
  },
  {
    pattern: /\bshall\b/,
    instead: 'must, should, will',
    found: ['what the segments shall be'],
    allowed: ['shallow'],
  },
  {
    pattern: /\b(mend|mends|mended|mending)\b/,
    instead: 'fix, repair',
    found: ['whoever can mend it'],
    allowed: ['recommended', 'amends'],
  },
  {
    pattern: /\b(has|have|had) run out\b(?! of)|\bruns out\b(?! of)|\bran out\b(?! of)/,
    instead: 'has expired, expires',
    found: ['a certificate that has run out', 'time until it runs out'],
    allowed: ['ran out of memory'],
  },
  {
    pattern: /\bbeside\b/,
    instead: 'next to, in addition to, also, compared with',
    found: ['the folder beside it'],
    allowed: ['besides'],
  },
  {
    pattern: /\b(hands|handed|handing) on\b/,
    instead: 'forwards',
    found: ['Handed on to the leading coordinator'],
    allowed: ['hands-on', 'on hand'],
  },
  {
    pattern: /\b(is|are) known of\b/,
    instead: 'is known about',
    found: ['What is known of one property'],
    allowed: ['is known to the leader'],
  },
  {
    pattern: /[,;] allowed (is|are)\b/,
    instead: 'expected [...]: Invalid value [x] for [field]: expected …',
    found: ['is missing; allowed is one of', 'has value [1], allowed are numbers'],
    allowed: ['it is allowed, and is shown'],
  },
  {
    pattern: /\bat the doors?\b/,
    instead: 'at login, during authentication',
    found: ['What happened at the door'],
    allowed: ['at the front end'],
  },
  {
    pattern:
      /(^|[\0.:;] ?|\n\s*\n\s*)(Told|Loaded|Asked|Counted|Taken|Kept|Shown|Marked|Needed|Written|Given|Meant|Read) (is|are)\b/v,
    instead: 'put the subject first: "It loads …", "Segments are …"',
    found: ['Loaded are two copies', 'It stops. Needed is a name'],
    allowed: ['two copies are loaded', 'Loaded segments are kept'],
  },
  {
    pattern: /\b(were it|be it|were they)\b/,
    instead: 'if it were, whether it is',
    found: ['were it forgotten at once'],
    allowed: ['if it were'],
  },
  {
    pattern: /\b(is|are|was|were|goes|went|be) away\b/,
    instead: 'is unavailable, is down',
    found: ['while Redis is away'],
    allowed: ['right away', 'is a way'],
  },
  {
    pattern: /\blog-in\b/,
    instead: 'login (noun), log in (verb)',
    found: ['there is no log-in without it'],
    allowed: ['login', 'log in'],
  },
  {
    pattern:
      /\b(coloured|behaviour|licence|favour|honour|cancelled|labelled|catalogue|normalis|organis|recognis|initialis)[a-z]*\b/,
    instead: 'American spelling: color, behavior, license, canceled, labeled, recognize',
    found: ['its behaviour', 'the licence'],
    allowed: ['behavior', 'license', 'canceled'],
  },
  {
    pattern: /\bis (nobody's|no one's)\b|\bof nobody\b/,
    instead: 'belongs to no user',
    found: ['a query of nobody'],
    allowed: ['nobody is the user'],
  },
  {
    pattern: /\bprevents? that( [a-z]+){1,3} (is|are|has|have)\b/,
    instead: 'prevents … from, keeps … from',
    found: ['what prevents that they are applied'],
    allowed: ['an added server prevents that', 'what prevents them from being applied'],
  },
  {
    pattern: /\bstops? to (?!(wait|think))[a-z]+\b/,
    instead: 'stops …ing',
    found: ['when a rule stops to apply'],
    allowed: ['when a rule stops applying', 'a user never stops to think'],
  },
  {
    pattern: /\breplac(e|es|ed|ing) [^.,;:()]{1,60}? by (an?|the|those|its|their|none)\b/,
    instead: 'replaces … with',
    found: ['Replaces the state of the cluster by a snapshot'],
    allowed: ['Replaces the state of the cluster with a snapshot', 'the file was replaced, by hand'],
  },
  {
    pattern: /\b[a-z]+ since\.$|\b(is|are|was|were) [a-z]+ since\./,
    instead: 'now …, has … since then',
    found: ['The list is read in pages since.'],
    allowed: ['The list is now read in pages.', 'The list has changed since then.'],
  },
  {
    pattern: /\banother [a-z]+ than\b/,
    instead: 'a different … from',
    found: ['presents another certificate than that in the store'],
    allowed: ['presents a different certificate from the one in the store'],
  },
]

/** Parts of identifiers to replace. */
export const nameParts: readonly Phrase[] = [
  {
    pattern:
      /^(most(?!FragmentedFirst$)|least|longest(?!(Part)?Ms$|Times$|Free$)|furthest|fewest)(?=[A-Z])|^(MOST|LEAST|LONGEST|FURTHEST)_|(?<!^at|[A-Z])(Most(?!FragmentedFirst$)|Longest(?!Times$)|Furthest)(?=[A-Z]|$)/v,
    instead: 'maxX, minX (longest only for measured values)',
    found: ['mostTold', 'leastMemoryBytes', 'MOST_LOG_BYTES', 'longestName'],
    allowed: [
      'almostDone',
      'atLeast',
      'atMost',
      'maxCount',
      'most',
      'longestMs',
      'mostFragmentedFirst',
      'MostFragmentedFirst',
    ],
  },
  {
    pattern: /^(un)?told|(?<![A-Z])Told(?=[A-Z]|$)|^tells?(?=[A-Z]|$)|^TOLD_/v,
    instead: 'reportX, warnX, logX, isKnownX',
    found: ['toldLeader', 'lastTold', 'tellSlowServers', 'untold'],
    allowed: ['intolerable', 'teller', 'sendReport'],
  },
  {
    pattern: /underWay|UnderWay/v,
    instead: 'inProgress, inFlight, running',
    found: ['underWay', 'tasksUnderWay'],
    allowed: ['inProgress', 'under'],
  },
  {
    pattern:
      /[mM]isled|[sS]poilt|[sS]poil(s|ed|ing|er)?(?=[A-Z]|$)|[sS]truck(?=[A-Z]|$)|[sS]trikes?(?=[A-Z]|$)|[hH]eard(?=[A-Z]|$)|[pP]atiently|^theirs|[aA]new(?=[A-Z]|$)/v,
    instead: 'the usual term: faulty, corrupt, affected, received, withRetries, again',
    found: ['misled', 'spoiltFiles', 'isStruck', 'askPatiently', 'heardFrom', 'theirs'],
    allowed: ['retry', 'renew', 'heartbeat', 'restricted', 'stroke'],
  },
]
