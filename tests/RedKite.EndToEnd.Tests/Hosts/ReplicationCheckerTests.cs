namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>The checker of histories finds what is planted, and nothing else.</summary>
public sealed class ReplicationCheckerTests
{
    [Fact]
    public void A_history_without_faults_passes()
    {
        ReplicationHistory history = Written(confirmed: 1);
        history.Promotions.Enqueue(new Promotion(1, At: 30, Replicas: 2, Candidates: 2));
        history.Reads.Enqueue(new Read("k", 2, 1, 40, 50));
        history.Places.Enqueue(new PlaceSeen(0, 1, "a", 100));
        history.Places.Enqueue(new PlaceSeen(0, 1, "a", 100));
        history.Places.Enqueue(new PlaceSeen(0, 1, "b", 50)); // another history
        history.Places.Enqueue(new PlaceSeen(0, 2, "b", 10)); // another process
        history.Data.Enqueue(new DataSeen(0, "a", 100, "same"));
        history.Data.Enqueue(new DataSeen(1, "a", 100, "same"));
        history.Data.Enqueue(new DataSeen(1, "a", 101, "other"));
        Assert.Empty(ReplicationChecker.Check(history));
    }

    [Theory]
    [InlineData(1, 2, true)] // one of two replicas has it, and both could be chosen
    [InlineData(2, 1, true)] // both have it, and one lived
    [InlineData(1, 1, false)] // the one that had it may have died
    [InlineData(2, 0, false)]
    public void A_confirmed_write_that_is_lost_is_found_unless_its_replica_died(int confirmed, int candidates, bool isFound)
    {
        ReplicationHistory history = Written(confirmed);
        history.Promotions.Enqueue(new Promotion(1, At: 30, Replicas: 2, candidates));
        history.Reads.Enqueue(new Read("k", 1, 1, 40, 50));
        List<string> violations = ReplicationChecker.Check(history);
        if (isFound) Assert.Equal($"k = 2 was confirmed by {confirmed} replicas, and server 1 replied 1 later", Assert.Single(violations));
        else Assert.Empty(violations);
    }

    [Fact]
    public void A_confirmed_write_that_vanishes_without_a_promotion_is_found()
    {
        ReplicationHistory history = Written(confirmed: 1);
        history.Promotions.Enqueue(new Promotion(0, At: 5, Replicas: 2, Candidates: 0)); // before it was written
        history.Reads.Enqueue(new Read("k", -1, 0, 40, 50));
        Assert.Contains("k = 1 was confirmed by 1 replicas, and server 0 replied -1 later", ReplicationChecker.Check(history));
    }

    [Fact]
    public void A_read_beside_a_write_may_see_either_value()
    {
        ReplicationHistory history = Written(confirmed: 1);
        history.Reads.Enqueue(new Read("k", 1, 0, 21, 29)); // the second write ends at 25
        Assert.Empty(ReplicationChecker.Check(history));
    }

    [Fact]
    public void A_write_without_confirmation_may_be_lost()
    {
        ReplicationHistory history = Written(confirmed: 0);
        history.Reads.Enqueue(new Read("k", -1, 0, 40, 50));
        Assert.Empty(ReplicationChecker.Check(history));
    }

    [Theory]
    [InlineData(7, 50)]
    [InlineData(2, 19)] // before it was written
    public void A_value_that_nobody_wrote_is_found(long value, long end)
    {
        ReplicationHistory history = Written(confirmed: 0);
        history.Reads.Enqueue(new Read("k", value, 2, end - 1, end));
        Assert.Equal($"server 2 replied k = {value}, which nobody had written", Assert.Single(ReplicationChecker.Check(history)));
    }

    [Fact]
    public void An_offset_that_goes_back_is_found()
    {
        var history = new ReplicationHistory();
        foreach (long offset in (long[])[1, 5, 4, 6]) history.Places.Enqueue(new PlaceSeen(2, 1, "a", offset));
        Assert.Equal("the offset of server 2 went from 5 to 4 of a", Assert.Single(ReplicationChecker.Check(history)));
    }

    [Fact]
    public void Different_data_at_one_place_is_found()
    {
        var history = new ReplicationHistory();
        foreach ((int node, string digest) in ((int, string)[])[(0, "x"), (1, "y"), (2, "x")]) history.Data.Enqueue(new DataSeen(node, "a", 9, digest));
        Assert.Equal("at 9 of a servers have different data: 0: x, 1: y, 2: x", Assert.Single(ReplicationChecker.Check(history)));
    }

    // Two writes of one key, which end at 15 and at 25.
    private static ReplicationHistory Written(int confirmed)
    {
        var history = new ReplicationHistory();
        history.Writes.Enqueue(new Write("k", 1, 0, 10, 15, confirmed));
        history.Writes.Enqueue(new Write("k", 2, 0, 20, 25, confirmed));
        return history;
    }
}
