using RedKite.ClusterChecker;

namespace RedKite.EndToEnd.Tests.Clusters;

/// <summary>The checker of clusters' histories finds what is planted, and nothing else.</summary>
public sealed class ClusterCheckerTests
{
    private const string Written = """
        op a k set 1 10 20 ok - - -
        op a k set 2 30 40 ok - - -
        op a l push a1 10 20 ok - - -
        op b l push b1 30 40 ok - - -
        op b l push b2 50 60 unknown - - timeout
        op b l push b3 50 60 failed - - MOVED
        """;

    [Theory]
    [InlineData("op r k get 2 50 60 ok - - -")]
    [InlineData("op r k get 1 39 60 ok - - -")] // beside the write of 2
    [InlineData("op r k get - 5 15 ok - - -")]
    [InlineData("op r k get 2 31 39 ok - - -")] // not acknowledged yet
    [InlineData("op r k get 1 50 60 unknown - - -")] // nothing was answered
    [InlineData("op r l range a1,b1 50 60 ok - - -")]
    [InlineData("op r l range a1,b1,b2 50 60 ok - - -")]
    [InlineData("op r l range a1,b1,a1 50 60 ok - - -")] // sent again
    [InlineData("op r l range a1 25 35 ok - - -")]
    [InlineData("op c k set 3 45 50 unknown - - -\nop r k get 3 60 70 ok - - -\nop r k get 2 71 80 ok - - -")] // never acknowledged: it may be lost
    [InlineData("op c k set 3 32 38 ok - - -\nop r k get 2 60 70 ok - - -\nop r k get 3 60 70 ok - - -")] // beside each other
    [InlineData("op r k get 1 50 60 ok n1 - -", "old: k = 2")]
    [InlineData("op r k get - 25 60 ok n1 - -", "lost: k = 1")]
    [InlineData("op r k get 7 50 60 ok - - -", "nobody has written")]
    [InlineData("op c k set 3 70 80 ok - - -\nop r k get 3 50 60 ok - - -", "began to write at 70")]
    [InlineData("op c k set 3 45 48 failed - - -\nop r k get 3 50 60 ok - - -", "had refused")]
    [InlineData("op c k set 3 45 48 ok - - -\nop r k get 2 50 60 ok - - -", "old: k = 3")]
    [InlineData("op c k set 3 35 45 ok - - -\nop d k set 4 37 38 ok - - -\nop r k get 1 46 60 ok - - -", "old")]
    [InlineData("op c k set 2 45 48 ok - - -", "no value of its own")]
    [InlineData("op r l range b1 50 60 ok - - -", "lost: a1")]
    [InlineData("op r l range - 50 60 ok - - -", "lost: a1", "lost: b1")]
    [InlineData("op r l range a1 41 60 ok - - -", "lost: b1")]
    [InlineData("op r l range b1,a1 50 60 ok - - -", "order")]
    [InlineData("op r l range a1,b2,b1 70 80 ok - - -", "order")] // b2 began when b1 had been acknowledged
    [InlineData("op r l range a1,b1,b3 70 80 ok - - -", "had refused")]
    [InlineData("op r l range a1,b1,x 70 80 ok - - -", "nobody has written")]
    [InlineData("op r l range a1,b1,b2 41 49 ok - - -", "began to write at 50")]
    public void What_is_read_is_what_was_acknowledged(string lines, params string[] expected) => Expect(Written + "\n" + lines, expected);

    [Theory]
    [InlineData("op a x set 1 10 20 ok n1 5 -\nop a x set 2 30 40 ok n2 6 -\nop a x set 3 50 60 ok n1 7 -")]
    [InlineData("op a x set 1 10 40 ok n1 5 -\nop a x set 2 30 35 ok n2 6 -")] // it may have been before
    [InlineData("op a x set 1 10 20 ok n1 5 -\nop a {y} set 2 10 20 ok n2 5 -")] // another slot
    [InlineData("op a x set 1 10 20 ok n2 6 -\nop a x set 2 30 40 unknown n1 5 -")]
    [InlineData("op a x set 1 10 20 ok n2 6 -\nop a x set 2 30 40 ok n1 - -")]
    [InlineData("op a x set 1 10 20 ok n2 6 -\nop a x set 2 21 40 ok n1 5 -", "n1 has answered a for slot 16287 by epoch 5, from 21 on, after n2 had by epoch 6 at 20")]
    [InlineData("op a {x}1 set 1 10 20 ok n2 6 -\nop a {x}2 get - 21 40 ok n1 5 -", "owners")] // by slots, and reads as well
    [InlineData("op a x set 1 10 20 ok n2 9 -\nop a x set 3 11 50 ok n3 7 -\nop a x set 2 21 40 ok n1 5 -", "after n2 had by epoch 9")]
    [InlineData("op a x set 1 10 20 ok n1 5 -\nop a x set 2 12 22 ok n2 5 -", "n1 and n2 have answered for slot 16287 by epoch 5")]
    public void A_slot_has_one_owner(string lines, params string[] expected) => Expect(lines, expected);

    [Theory]
    [InlineData("slots n1 primary 0 9000\nslots n2 primary 9001 16383\nslots n3 replica 9001 16383\nheld n2 x\nheld n3 x")]
    [InlineData("slots n1 primary 0 9000\nslots n2 primary 9001 16383\nheld n1 x\nheld n2 x", "n1 has x of slot 16287 at the end, which is n2's")]
    [InlineData("slots n1 primary 0 9000\nslots n2 primary 9001 16383\nslots n3 replica 0 9000\nheld n2 x\nheld n3 x", "n3 has x")]
    [InlineData("slots n1 primary 0 16383\nslots n2 primary 16383 16383\nheld n1 x", "n1 and n2 are primaries of slot 16383")]
    [InlineData("slots n1 primary 0 9000\nheld n1 x", "n1 has x of slot 16287 at the end, which is nobody's", "has no primary")]
    [InlineData("slots n1 primary 0 16383\nslots n2 replica 0 16383\nheld n2 x", "n1 does not have x")]
    public void Keys_are_where_their_slots_are(string lines, params string[] expected) => Expect("op a x set 1 10 20 ok - - -\n" + lines, expected);

    [Theory]
    [InlineData("op a k set 1 10 20 ok -")]
    [InlineData("op a k sat 1 10 20 ok - - -")]
    [InlineData("op a k set 1 20 10 ok - - -")]
    [InlineData("op a k set 1 ten 20 ok - - -")]
    [InlineData("held n1")]
    [InlineData("other")]
    public void What_is_no_history_is_refused(string line) => Assert.StartsWith("not a line of a history: ", Assert.Throws<FormatException>(() => Read(line)).Message, StringComparison.Ordinal);

    [Theory]
    [InlineData("123456789", 0x31c3)] // of the specification of Redis Cluster
    [InlineData("{user1000}.following", 3443)]
    [InlineData("foo{}{bar}", 8363)]
    [InlineData("foo{{bar}}zap", 4015)]
    public void Slots_are_those_of_redis(string key, int slot) => Assert.Equal(slot, Slot.Of(key));

    private static History Read(string lines) => History.Read(lines.Split('\n').Select(static line => line.Trim().Replace(' ', '\t')));

    private static void Expect(string lines, string[] expected)
    {
        List<string> violations = Checker.Check(Read(lines));
        Assert.Equal(expected.Length, violations.Count);
        foreach ((string violation, string part) in violations.Zip(expected)) Assert.Contains(part, violation, StringComparison.Ordinal);
    }
}
