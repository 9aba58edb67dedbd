import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './operators.ts';
import { root } from './targets.ts';

/** A defect that the project had, as a change that brings it back. */
export interface KnownDefect {
  readonly says: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** By id. */
export const knownDefects: Readonly<Record<string, KnownDefect>> = {
  'unanswered-partition': {
    says: 'The producer counted a partition that an answer left out as written, so its records were lost.',
    file: 'src/kafka/produce/sender.ts',
    find: "answer?.error ?? 'PartitionUnanswered'",
    replace: "answer?.error ?? 'NONE'",
  },
  'duplicate-is-error': {
    says: 'A batch that was in the log already, because only its answer was lost, was sent again without end.',
    file: 'src/kafka/produce/judge-answer.ts',
    find: "['DUPLICATE_SEQUENCE_NUMBER', 'written']",
    replace: "['DUPLICATE_SEQUENCE_NUMBER', 'again']",
  },
  'new-number-after-failure': {
    says: 'A batch that was sent again got a new number, so Kafka wrote its records twice.',
    file: 'src/kafka/produce/outgoing-batch.ts',
    find: '    if (this.#bytes !== undefined) return;\n    this.queue.sequence ??= firstSequence(identity);',
    replace: '    this.queue.sequence = firstSequence(identity);',
  },
  'passes-unreadable-batch': {
    says: 'A reader moved over a batch that it could not read, and committed that.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: '      owner.stuck(cursor, problem);\n',
    replace: '      cursor.offset = end;\n      owner.stuck(cursor, problem);\n',
  },
  'resume-hands-over': {
    says: 'An owner that resumed one partition got records of it before it had resumed the others, and paused those again in vain.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: '      queueMicrotask(() => {\n        void this.#handOver(cursor);\n      });',
    replace: '      void this.#handOver(cursor);',
  },
  'commits-unfinished': {
    says: 'What was committed was how far a partition was read, and not how far it was finished.',
    file: 'src/kafka/consume/owned-partition.ts',
    find: 'const { finishedUpTo: offset, finishes } = tracker;',
    replace: 'const { next: offset, finishes } = tracker;',
  },
  'missing-commit': {
    says: 'A partition that the answer about committed offsets left out counted as never read, and was read from its beginning.',
    file: 'src/kafka/consume/coordinator.ts',
    find: 'if (committed.length < partitions.length)',
    replace: 'if (committed.length > partitions.length)',
  },
  'expelled-goes-on': {
    says: 'A member that its group had gone on without kept its positions, although others had read on.',
    file: 'src/kafka/consume/membership.ts',
    find: '      this.#options.expelled();\n',
    replace: '',
  },
  'unheard-goes-on': {
    says: 'A member that was cut off took in what another member had read meanwhile, before it heard that it was expelled.',
    file: 'src/kafka/consume/intake.ts',
    find: 'const mustWait = this.#isClosing || this.#isUnheard;',
    replace: 'const mustWait = this.#isClosing;',
  },
  'suspended-takes-in': {
    says: 'A member that had been suspended took in what answers of brokers brought before its own timers told it that its session was over.',
    file: 'src/kafka/consume/membership.ts',
    find: 'if (performance.now() >= this.#sessionEndMs) this.#tell(true);',
    replace: '',
  },
  'hands-over-in-flight': {
    says: 'A partition went to another member while records of it were in flight, and both finished them.',
    file: 'src/kafka/consume/intake.ts',
    find: '    await waitAtMost(drainMs, this.#drained(partitions));\n',
    replace: '',
  },
  'fresh-without-evidence': {
    says: 'A follower was fresh although a partition of its topic had never answered.',
    file: 'src/kafka/follow/follower-progress.ts',
    find: '  knownAtMs = -Infinity;',
    replace: '  knownAtMs = Infinity;',
  },
  'paused-resumes': {
    says: 'A follower that was paused while it opened its partitions read on.',
    file: 'src/kafka/follow/follower.ts',
    find: '      cursor.isPaused = this.#isPaused;\n',
    replace: '',
  },
  'stale-fence-opens': {
    says: 'Events were sent although deletions could have been missed.',
    file: 'src/delivery/fencing.ts',
    find: 'const isFresh = this.#fence.isFresh();',
    replace: 'const isFresh = this.#fence.isFresh() || this.#isStale;',
  },
  'gate-forgets-one': {
    says: 'The gate of the retry topics forgot the last record but one of a partition.',
    file: 'src/delivery/waiting-records.ts',
    find: 'if (heap.length > 0) this.#sink(last);',
    replace: 'if (heap.length > 1) this.#sink(last);',
  },
  'breaker-stays-open': {
    says: 'A breaker whose probe succeeded stayed open.',
    file: 'src/delivery/lane/breaker.ts',
    find: '    if (alive) probing?.resolve();\n    else probing?.reject(failure);',
    replace: '    probing?.reject(failure);',
  },
  'default-without-quarter': {
    says: 'A destination without a limit of its own could have all slots of a worker.',
    file: 'src/delivery/lane/slots.ts',
    find: 'return Math.min(context.maxInFlightPerDestination, most);',
    replace: 'return context.maxInFlightPerDestination;',
  },
  'limit-moves-early': {
    says: 'A rate limit that went to another worker was exceeded by one event.',
    file: 'src/delivery/lane/rate-limit.ts',
    find: 'this.#nextMs = sinceMs + burstMs + atOnce * this.#intervalMs;',
    replace: 'this.#nextMs = sinceMs + burstMs;',
  },
  'held-lane-sends-another': {
    says: 'An endpoint that had asked for peace got an event in the place of one that was dropped.',
    file: 'src/delivery/lane/lane.ts',
    find: 'job = this.wantsSlot ? this.waiting.next(turn) : undefined;',
    replace: 'job = this.waiting.next(turn);',
  },
  'refusal-waits': {
    says: 'A follower whose topic only a person can make readable was waited for without end at the start.',
    file: 'src/kafka/follow/follower.ts',
    find: "      if (error instanceof PostriderError && error.code === 'kafka-refused') return error;\n",
    replace: '',
  },
  'large-ids-in-bundle': {
    says: 'An event with large ids was put into a bundle, which was then too large to be read.',
    file: 'src/delivery/bundle/gathering.ts',
    find: 'return packedBytes(record.key, envelopeBytes, body) >= mostBundleBytes;',
    replace: 'return envelopeBytes + body.length >= mostBundleBytes;',
  },
  'clock-starts-again': {
    says: 'Every failed attempt started the retry window anew, so an event could be tried without end.',
    file: 'src/delivery/retry-policy.ts',
    find: 'const deadlineMs = state.deadlineMs ?? nowMs + policy.windowMs;\n  return schedule',
    replace: 'const deadlineMs = nowMs + policy.windowMs;\n  return schedule',
  },
  'cut-off-user-stays': {
    says: 'An event whose partition went while nobody could be reached stayed the first of its user, behind which all later ones waited for ever.',
    file: 'src/delivery/lane/settlement.ts',
    find: '    if (this.leaves(job)) {\n      waiting.release(job);\n      return;',
    replace: '    if (this.leaves(job)) {\n      return;',
  },
  'dead-are-evidence': {
    says: 'Customers who had been dead for long made a worker believe that its own network was down, and it stopped sending to healthy ones.',
    file: 'src/delivery/reachability.ts',
    find: 'return this.#isNew || this.#known.has(provider);',
    replace: 'return true;',
  },
  'late-turn-waits': {
    says: 'An event whose rate limit came too late for it waited all the same, and kept others from being read.',
    file: 'src/delivery/verdict.ts',
    find: 'lane.isRateElsewhere || isTooLate(event, deferral, prospects, now)',
    replace: 'lane.isRateElsewhere',
  },
  'limited-fill-window': {
    says: 'Several limited destinations with the same home filled the window of its partition, and others waited for their whole backlog.',
    file: 'src/delivery/lane/deferral.ts',
    find: 'return fullness < crowded ? longestMs : crowdedPart * longestMs;',
    replace: 'return longestMs;',
  },
  'former-leader-returns': {
    says: 'A broker that had lost touch with the others could talk a reader back to a former leader, whose log ended before.',
    file: 'src/kafka/cluster/latest-metadata.ts',
    find: 'former !== undefined && former.epoch > each.epoch ? former : each',
    replace: 'each',
  },
  'stray-bytes-are-answer': {
    says: 'Bytes behind an answer on a kept connection made a dead letter of the next event.',
    file: 'src/delivery/http/http-attempt.ts',
    find: 'return this.#status === 0 && isNotHttp(error);',
    replace: 'return false;',
  },
  'half-name-forgets': {
    says: 'A name server that failed to tell the IPv4 addresses, and told the IPv6 ones, made them forgotten.',
    file: 'src/delivery/http/name-resolver.ts',
    find: "const isNoName = failures.includes('ENOTFOUND');",
    replace:
      "const isNoName = failures.includes('ENOTFOUND') || failures.length < families.length;",
  },
  'bundles-behind-fresh': {
    says: 'Bundles stayed packed while enough fresh events of their destination waited, which was for ever where more came than could be sent.',
    file: 'src/delivery/lane/admission.ts',
    find: 'returned >= enough ||',
    replace: 'waiting >= enough ||',
  },
  'unpacked-by-anybody': {
    says: 'Bundles of slow destinations took all that may be unpacked of a partition, and those of others waited for minutes.',
    file: 'src/delivery/lane/admission.ts',
    find: ' || claim.unpackedBytes.areTooManyOf(destinationId)',
    replace: '',
  },
  'refused-without-pause': {
    says: 'A position that a broker refused although its log had it was asked for again without a pause.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: 'move === undefined ? performance.now() + againMs : 0',
    replace: '0',
  },
  'timed-out-stays': {
    says: 'A producer went on sending to a leader that had lost touch with the others, although they had elected another one.',
    file: 'src/kafka/produce/judge-answer.ts',
    find: "['REQUEST_TIMED_OUT', 'elsewhere']",
    replace: "['REQUEST_TIMED_OUT', 'again']",
  },
  'answer-without-its-beginning': {
    says: 'When a connection ended amid an answer, the next answer was read from behind what had come of it: the process ended, or the broker was never heard again.',
    file: 'src/kafka/kafkajs/replacements.ts',
    find: '      connection.chunks = [];\n',
    replace: '',
  },
  'deadline-of-arriving-answers': {
    says: 'An answer that took longer to arrive than the deadline of its request was asked for again without end, so nothing was read over slow links.',
    file: 'src/kafka/kafkajs/broker-connection.ts',
    find: 'silentParts = isSilent ? silentParts + 1 : 0;',
    replace: 'silentParts += 1;',
  },
  'deadline-of-kafkajs': {
    says: 'kafkajs gave an answer up after 20 s, though it was arriving.',
    file: 'src/kafka/kafkajs/broker-connection.ts',
    find: 'enforceRequestTimeout: false,',
    replace: 'requestTimeout: timeouts.requestTimeout,',
  },
  'batch-too-long': {
    says: 'A client that was to make batches of more calls than the gateway takes made them, and they were lost.',
    file: 'src/client/options.ts',
    find: 'maxQueued, maxBatchCalls)',
    replace: 'maxQueued)',
  },
  'full-queue-waits': {
    says: 'A client whose queue was shorter than a batch lost calls while the full queue waited to be sent.',
    file: 'src/client/options.ts',
    find: 'Math.min(size, flushAt, maxQueued,',
    replace: 'Math.min(size, flushAt,',
  },
  'clock-silences-status': {
    says: 'A worker whose clock was set back said nothing of itself and its destinations until that time came again.',
    file: 'src/delivery/status/status-publisher.ts',
    find: 'const nowMs = clock.steadyNow();',
    replace: 'const nowMs = clock.now();',
  },
  'keeps-for-a-pause-that-is-over': {
    says: 'A worker that heard of a pause and of its end at once moved what waited to where nobody looked for it any more.',
    file: 'src/resources/pauses/pauses.ts',
    find: 'if (table.isFresh()) listener(id);\n        // It rejects when it is stopped.\n        else if (late.add(id).size === 1) table.caughtUp().then(tellLate, () => undefined);',
    replace: 'listener(id);',
  },
  'leader-vouches-for-itself': {
    says: 'A worker that was cut off together with one broker believed it that nothing was new, and sent events of users who had been deleted elsewhere.',
    file: 'src/kafka/follow/witnesses.ts',
    find: 'others.length > 0 ? others : [leader]',
    replace: '[leader]',
  },
  'stays-with-former-coordinator': {
    says: 'A member joined with the new coordinator and sent its heartbeats to the former one, so that its group rebalanced without end.',
    file: 'src/kafka/consume/membership.ts',
    find: '      this.#coordinator.follow(this.#joining);\n',
    replace: '',
  },
  'believes-a-replica': {
    says: 'What a replica said wrongly of a log, be it an error, a truncation or no offset, kept its partition from being read, because its leader named it again and again.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: 'if (!isFromLeader && !believed.has(verdict.kind)) {',
    replace: 'if (!isFromLeader && verdict.kind === "replica") {',
  },
  'stuck-at-a-replica': {
    says: 'A batch that only a replica could not read stopped its partition.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: '} else if (nodeId === cursor.leader) {',
    replace: '} else if (nodeId >= 0) {',
  },
  'asks-for-the-rest-for-ever': {
    says: 'Whoever read a range asked without end for the rest of a batch whose length was damaged.',
    file: 'src/kafka/read-range.ts',
    find: 'const { obstacle } = records;',
    replace: 'const { problem: obstacle } = records;',
  },
  'partition-locks-gateway': {
    says: 'One partition of ingest without a leader made a gateway turn all requests away, for five seconds at a time.',
    file: 'src/gateway/ingest-writer.ts',
    find: 'const isThere = this.#acknowledgedMs > write.startedMs;',
    replace: 'const isThere = false;',
  },
  'keeps-answered-requests': {
    says: 'A gateway kept something of each request with an unknown write key for as long as the configuration could not be read.',
    file: 'src/gateway/known-keys.ts',
    find: '        waiting.delete(answer);\n',
    replace: '',
  },
  'acknowledgement-throws': {
    says: 'A redrive threw out of an acknowledgement where its producer was closed by then, which ended the process.',
    file: 'src/dead-letter/redrive.ts',
    find: '      failure ??= asError(error);\n      ending.abort();\n      inFlight.leave(size);\n',
    replace: '      throw error;\n',
  },
  'dedicated-hides-traffic': {
    says: 'A redrive took as many new events for its own as it sent to dedicated topics, and did not give way to them.',
    file: 'src/dead-letter/live-traffic.ts',
    find: 'if (this.#options.isShared(letter)) this.#own += 1;',
    replace: 'this.#own += 1;',
  },
  'held-call-keeps-response': {
    says: 'Each call that a router held for the configuration kept the whole fetch response that it came in.',
    file: 'src/router/call-router.ts',
    find: '    record.detach();\n',
    replace: '',
  },
  'clock-silences-log': {
    says: 'A clock that was set back kept lines out of the log until that time came again.',
    file: 'src/ops/log-throttle.ts',
    find: 'Math.abs(nowMs - this.#loggedMs)',
    replace: 'nowMs - this.#loggedMs',
  },
  'contradiction-with-the-end': {
    says: 'A batch with a damaged offset was asked for again for as long as its partition grew, because the end was part of what had to come twice.',
    file: 'src/kafka/fetch/judge-part.ts',
    find: "problem = 'reaches beyond the high watermark';",
    replace: 'problem = `reaches beyond ${highWatermark}`;',
  },
  'left-out-again': {
    says: 'Partitions with backlog that an answer had no room for waited until each of those before them had begun a fetch.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: '        cursor.turn = this.#turn++;\n',
    replace: '',
  },
  'former-topics-commit': {
    says: 'A commit of a topic that had been deleted counted for the one that was made again, whose first records were left out.',
    file: 'src/kafka/consume/positions.ts',
    find: 'told.topicId === undefined ? partition.isRemade : differ(told.topicId, topicId)',
    replace: 'partition.isRemade',
  },
  'unled-unsaid': {
    says: 'A reader of a partition that nobody led waited without a word.',
    file: 'src/kafka/fetch/leaders.ts',
    find: 'if (nowMs - cursor.unledSinceMs < unledMs) return;',
    replace: 'if (nowMs - cursor.unledSinceMs < Infinity) return;',
  },
  'former-voids-later': {
    says: 'What a process had finished under a former leader voided what others had committed ahead under a later one, which came again.',
    file: 'src/kafka/consume/owned-partition.ts',
    find: 'const holds = this.#holdsLonger.filter((each) => each.epoch >= epoch);',
    replace: 'const holds: readonly FinishedBefore[] = [];',
  },
  'marker-of-later-leader': {
    says: 'What was finished ahead was committed with the epoch of a later leader that had shown a marker alone, and what that one wrote was left out.',
    file: 'src/kafka/consume/owned-partition.ts',
    find: 'this.#heed(epoch);\n    this.tracker.skipTo(offset);',
    replace: 'this.epoch = Math.max(this.epoch, epoch);\n    this.tracker.skipTo(offset);',
  },
  'epoch-before-reading': {
    says: 'What a process had finished counted for a later leader of which it had read nothing, and what that one wrote was left out.',
    file: 'src/kafka/consume/owned-partition.ts',
    find: 'return { account, topicId: cursor.topicId };',
    replace:
      'account.epoch = Math.max(account.epoch, cursor.lastEpoch);\n    return { account, topicId: cursor.topicId };',
  },
  'believes-former-leader-of-range': {
    says: 'A command that a broker without touch to the others led to a former leader left out what that one had not.',
    file: 'src/kafka/read-range.ts',
    find: 'if (range.timesLost < lostAfter) this.#isLeaderDoubted = true;\n    else this.#goOn(range, range.end);',
    replace: 'this.#goOn(range, range.end);',
  },
  'doubts-and-asks-the-same': {
    says: 'A command that doubted the leader asked the only broker again that it was connected to, and left out what that one did not have.',
    file: 'src/kafka/read-range.ts',
    find: 'await cluster.refreshInTurn([this.#topic]);',
    replace: 'await cluster.refresh([this.#topic]);',
  },
  'former-leader-is-believed': {
    says: 'A producer that was connected to a former leader alone asked that one who leads, and wrote nothing until it was in touch with the others.',
    file: 'src/kafka/produce/sender.ts',
    find: 'const asked = failed.some(({ failure }) => isLeaderDoubted(failure.reason))',
    replace: 'const asked = (false as boolean)',
  },
  'former-leader-moves-back': {
    says: 'A consumer that asked a former leader first moved its position back to where that one was cut off, and committed it.',
    file: 'src/kafka/fetch/fetcher.ts',
    find: 'const isDoubted = diverging === undefined && cursor.mayBeOfFormerLeader;',
    replace: 'const isDoubted = false as boolean;',
  },
  'former-leader-is-read-from': {
    says: 'A consumer that was connected to a former leader alone asked that one who leads, and read nothing new.',
    file: 'src/kafka/fetch/leaders.ts',
    find: 'if (askedAtMs - this.#turnAtMs >= othersMs) this.refreshInTurn().catch(() => undefined);',
    replace: '',
  },
  'former-topic-comes-back': {
    says: 'A broker that went on telling of a topic that had been made again was believed, and readers changed between both topics without end.',
    file: 'src/kafka/cluster/writing-cluster.ts',
    find: 'if (!this.#metadata.isOther(topic)) this.#metadata.learn(topic);',
    replace: 'this.#metadata.learn(topic);',
  },
  'commit-of-unknown-topic': {
    says: 'A worker that first asked a broker which knew a former topic took what was committed of the present one for void.',
    file: 'src/kafka/consume/positions.ts',
    find: 'if (offsets.some((each) => isOfOtherTopic(each, cluster))) await cluster.refreshInTurn(topics);',
    replace: '',
  },
  'former-leader-is-followed': {
    says: 'A follower that had asked a former leader alone stayed with it, so a router left out the events of new destinations.',
    file: 'src/kafka/follow/follower.ts',
    find: 'this.#progress.refreshed(partitions, askedAtMs);\n    this.#witnesses.ask();',
    replace: 'this.#progress.refreshed(partitions, askedAtMs);',
  },
  'later-leader-waits': {
    says: 'A batch whose partition had no leader, or a dead one, went on waiting when a later leader was told of.',
    file: 'src/kafka/produce/sender.ts',
    find: 'const isLater = topics.leaderEpoch(topic, partition) > batch.leaderEpoch;',
    replace: 'const isLater = false as boolean;',
  },
  'several-behind-are-usual': {
    says: 'Where several lanes were behind, none was the odd one, and a healthy destination waited for their backlogs while slots were free.',
    file: 'src/delivery/lane/pace.ts',
    find: 'if (!idle.areSlots) return',
    replace: 'return',
  },
  'pauses-of-one': {
    says: 'A resume believed a broker that had lost touch with the others, and forgot what was kept.',
    file: 'src/resources/pauses/pauses.ts',
    find: '    needsWitnesses: true,\n',
    replace: '',
  },
  'ends-of-one': {
    says: 'A broker that had lost touch with the others said where a topic ends, so that the rest of it was not looked for.',
    file: 'src/kafka/read-range.ts',
    find: 'if (!(await areConfirmed(this.#cluster, this.#topic)))',
    replace: 'if ((await areConfirmed(this.#cluster, this.#topic)) === undefined)',
  },
  'full-by-span': {
    says: 'A full window did not go on while an unfinished record had been passed by half of what may pass it.',
    file: 'src/kafka/consume/window.ts',
    find: 'span > 1 - spanLeft',
    replace: 'span > 0.5',
  },
  'hangs-unseen': {
    says: 'Until the first attempts timed out, what waited for an endpoint that hangs filled the windows of others.',
    file: 'src/delivery/lane/pace.ts',
    find: 'Math.max(this.drainMs(queued), silentSlotMs)',
    replace: 'this.drainMs(queued)',
  },
  'hangs-unseen-by-users': {
    says: 'An endpoint that hangs was seen early only where its slots were all taken, so the events of a few users filled the windows of others.',
    file: 'src/delivery/lane/pace.ts',
    find: 'Math.max(this.#averageMs, likelyMs)',
    replace: 'this.#averageMs',
  },
  'starts-break-silence': {
    says: 'Each attempt that began hid that the ones before it hang.',
    file: 'src/delivery/lane/pace.ts',
    find: '    if (this.#inFlight === 0) this.#silentSinceMs = nowMs;\n',
    replace: '    this.#silentSinceMs = nowMs;\n',
  },
  'followers-of-former-first': {
    says: 'An event that had been the first of its user once brought the others along a second time in another lane, where each took a slot for good.',
    file: 'src/delivery/lane/waiting-jobs.ts',
    find: '    job.followers = undefined;\n',
    replace: '',
  },
  'resumed-in-flight': {
    says: 'What had reached nobody when its destination was resumed was kept as if it were paused still, and nobody looked for it.',
    file: 'src/delivery/lane/lanes.ts',
    find: 'if (lane === undefined) this.again(destination);',
    replace: 'if (lane === undefined) return;',
  },
  'retry-at-once': {
    says: 'An endpoint that answered 429 with Retry-After: 0, or with a date in the past, was not slowed down at all.',
    file: 'src/delivery/lane/hold.ts',
    find: "retryAfterMs === 0 && cause === 'status-429'",
    replace: 'false as boolean',
  },
  'kept-late': {
    says: 'An event of a paused destination whose copy was acknowledged after the resume was kept and forgotten.',
    file: 'src/delivery/disposal.ts',
    find: 'if (this.#clock.steadyNow() - begunMs <= surelyFoundMs) return true;',
    replace: 'if (this.#clock.steadyNow() - begunMs >= 0) return true;',
  },
  'removed-by-former-leader': {
    says: 'The topic of a deleted destination was removed, with unfinished events, on the word of a former leader.',
    file: 'src/delivery/dedicated-topics.ts',
    find: 'await writtenRanges(this.#options.kafka, topic)',
    replace: 'await admin.offsets(topic)',
  },
  'former-coordinator-again': {
    says: 'A member whose coordinator had lost touch with the others asked that one again and again who coordinates its group.',
    file: 'src/kafka/consume/coordinator.ts',
    find: '    this.#failed = this.#nodeId ?? this.#failed ?? -1;\n',
    replace: '',
  },
  'lacking-replicas-stays': {
    says: 'A producer whose leader lacked replicas, and had been replaced without hearing of it, asked nobody who leads.',
    file: 'src/kafka/produce/judge-answer.ts',
    find: "  'NOT_ENOUGH_REPLICAS',\n  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',\n]",
    replace: ']',
  },
};

/** @throws Error if the code of a defect has changed, and the defect must be written anew */
export function defectMutants(): Mutant[] {
  return Object.entries(knownDefects).map(([id, { file, find, replace }]) => {
    const text = readFileSync(join(root, file), 'utf8');
    const start = text.indexOf(find);
    if (start < 0 || text.indexOf(find, start + 1) >= 0)
      throw new Error(
        `test/lab/mutation/known-defects.ts: '${id}' must find its text once in ${file}; write it anew: ${find}`,
      );
    const line = text.slice(0, start).split('\n').length;
    return { file, id, line, start, end: start + find.length, replacement: replace };
  });
}
