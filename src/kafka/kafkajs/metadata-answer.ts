interface DescribedPartition {
  partitionErrorCode: number;
}

/** The part of kafkajs's module that judges an answer about topics. */
interface MetadataAnswer {
  parse(data: {
    readonly topicMetadata: readonly {
      readonly partitionMetadata: readonly DescribedPartition[];
    }[];
  }): Promise<unknown>;
}

/**
 * A partition without a leader is its own trouble: kafkajs fails every question about the cluster while
 * there is one. Whoever asks that partition's leader something still fails, because there is none.
 */
export function tolerateLeaderless(original: MetadataAnswer): MetadataAnswer {
  return {
    ...original,
    parse: (data) => {
      for (const { partitionMetadata } of data.topicMetadata)
        for (const partition of partitionMetadata) partition.partitionErrorCode = 0;
      return original.parse(data);
    },
  };
}
