namespace RedKite.Server.Tests.Commands.Arrays;

/// <summary>
/// Arrays without another server. The expected replies are those of the examples on the pages redis.io/commands/NAME and redis.io/docs/latest/develop/data-types/arrays,
/// unless a test says otherwise.
/// </summary>
public sealed class ArrayCommandsTests : TranscriptTests
{
    // redis.io/commands/arset, arget, armset, armget
    [Fact]
    public void Elements_are_set_and_read_by_index()
    {
        Run("ARSET events:1 0 login click purchase").Shows("3");
        Run("ARGET events:1 0").Shows("login");
        Run("ARGET events:1 999").Shows("nil");
        Run("ARSET events:1 2 buy leave").Shows("1");
        Run("ARMSET metrics 0 10 5 20 100 30").Shows("3");
        Run("ARMGET metrics 0 5 100 999").Shows("[10 20 30 nil]");
        Run("ARMSET metrics 0 11 0 12 1 13").Shows("1");
        Run("ARMGET metrics 0 1").Shows("[12 13]");
        Run("ARMGET missing 0 1").Shows("[nil nil]");
        Run("ARGET missing 0").Shows("nil");
        Run("TYPE metrics").Shows("array");
        Run("OBJECT ENCODING metrics").Shows("sliced-array");
    }

    // redis.io/commands/arlen, arcount
    [Fact]
    public void Length_is_the_highest_index_plus_one()
    {
        Run("ARSET sparse 0 a").Shows("1");
        Run("ARSET sparse 1000000 b").Shows("1");
        Run("ARLEN sparse").Shows("1000001");
        Run("ARCOUNT sparse").Shows("2");
        Run("ARLEN missing").Shows("0");
        Run("ARCOUNT missing").Shows("0");
    }

    // redis.io/commands/argetrange, arscan
    [Fact]
    public void Ranges_are_read_in_both_directions()
    {
        Run("ARMSET seq 0 a 1 b 3 d").Shows("3");
        Run("ARGETRANGE seq 0 3").Shows("[a b nil d]");
        Run("ARGETRANGE seq 3 0").Shows("[d nil b a]");
        Run("ARGETRANGE seq 2 2").Shows("[nil]");
        Run("ARGETRANGE seq 5 2").Shows("[nil nil d nil]");
        Run("ARGETRANGE missing 1 2").Shows("[nil nil]");
        Run("ARSET myarray 0 a");
        Run("ARSET myarray 5 b");
        Run("ARSET myarray 9 c");
        Run("ARSCAN myarray 0 10").Shows("[[0 a] [5 b] [9 c]]");
        Run("ARSCAN myarray 0 10 LIMIT 2").Shows("[[0 a] [5 b]]");
        Run("ARSCAN myarray 9 1").Shows("[[9 c] [5 b]]");
        Run("ARSCAN myarray 18446744073709551614 0 LIMIT 1").Shows("[[9 c]]");
        Run("ARSCAN myarray 6 8").Shows("[]");
        Run("ARSCAN missing 0 10").Shows("[]");
    }

    // upstash.com/docs/redis/commands/array/argetrange has the text of the error.
    [Fact]
    public void Range_with_gaps_has_a_limit()
    {
        Run("ARGETRANGE missing 0 1000000").Shows("ERR range exceeds maximum of 1000000 items");
        Run("ARGETRANGE missing 1000000 0").Shows("ERR range exceeds maximum of 1000000 items");
        Run("ARGETRANGE missing 0 18446744073709551614").Shows("ERR range exceeds maximum of 1000000 items");
        Assert.Equal(1_000_000, Run("ARGETRANGE missing 0 999999").Items.Count);
    }

    // redis.io/commands/ardel, ardelrange
    [Fact]
    public void Key_goes_with_its_last_element()
    {
        Run("ARMSET scores 0 10 1 20 2 30").Shows("3");
        Run("ARDEL scores 1").Shows("1");
        Run("ARDEL scores 1 7").Shows("0");
        Run("ARDELRANGE scores 0 2").Shows("2");
        Run("EXISTS scores").Shows("0");
        Run("ARMSET myarray 0 a 1 b 2 c 3 d 4 e");
        Run("ARDELRANGE myarray 3 1").Shows("3");
        Run("ARCOUNT myarray").Shows("2");
        Run("ARDELRANGE myarray 2 3 0 3 1 3").Shows("1");
        Run("ARDELRANGE myarray 0 18446744073709551614 5 6").Shows("1");
        Run("ARDEL myarray 0").Shows("0");
        Run("ARDEL missing 0").Shows("0");
        Run("ARDELRANGE missing 0 5").Shows("0");
        Run("ARSET twice 3 a");
        Run("ARDEL twice 3 3 3").Shows("1");
    }

    // redis.io/commands/arinsert, arnext, arseek
    [Fact]
    public void Elements_are_inserted_behind_the_last_one()
    {
        Run("ARNEXT log").Shows("0");
        Run("ARINSERT log event1").Shows("0");
        Run("ARINSERT log event2").Shows("1");
        Run("ARNEXT log").Shows("2");
        Run("ARSEEK log 10").Shows("1");
        Run("ARINSERT log event3").Shows("10");
        Run("ARNEXT log").Shows("11");
        Run("ARINSERT log x y z").Shows("13");
        Run("ARSET log 100 far");
        Run("ARDEL log 13");
        Run("ARNEXT log").Shows("14");
        Run("ARSEEK log 0").Shows("1");
        Run("ARNEXT log").Shows("0");
        Run("ARSEEK missing 10").Shows("0");
        Run("EXISTS missing").Shows("0");
        Run("ARSET fresh 5 a");
        Run("ARNEXT fresh").Shows("0");
    }

    // The cursor goes on at the array's end behind index 0, so without one that is where the last items are.
    [Fact]
    public void Last_items_before_the_first_insertion_are_at_the_end()
    {
        Run("ARSET a 0 p q r");
        Run("ARLASTITEMS a 2").Shows("[q r]");
        Run("ARLASTITEMS a 2 REV").Shows("[r q]");
        Run("ARINSERT a x").Shows("0");
        Run("ARLASTITEMS a 2").Shows("[r x]");
        Run("ARSEEK a 0").Shows("1");
        Run("ARLASTITEMS a 9").Shows("[x q r]");
        Run("ARLASTITEMS a 9 REV").Shows("[r q x]");
        Run("ARLASTITEMS a 0").Shows("[]");
        Run("ARLASTITEMS missing 2").Shows("[]");
    }

    // redis.io/commands/arnext: null when the next one would overflow. upstash.com/docs/redis/commands/array/arinsert has the text of the error and the form of
    // indexes that are no integers of the protocol.
    [Fact]
    public void Highest_indexes_are_big_numbers()
    {
        Run("ARSET a 18446744073709551613 x y").Shows("2");
        Run("ARLEN a").Shows("18446744073709551615");
        Run("ARSET a 18446744073709551614 x y").Shows("ERR invalid array index");
        Run("ARSCAN a 9223372036854775808 18446744073709551614").Shows("[[18446744073709551613 x] [18446744073709551614 y]]");
        Run("ARSEEK a 9223372036854775807").Shows("1");
        Run("ARINSERT a b").Shows("9223372036854775807");
        Run("ARINSERT a c").Shows("9223372036854775808");
        Run("ARSEEK a 18446744073709551614").Shows("1");
        Run("ARINSERT a p q").Shows("ERR insert index overflow");
        Run("ARINSERT a last").Shows("18446744073709551614");
        Run("ARNEXT a").Shows("nil");
        Run("ARINSERT a more").Shows("ERR insert index overflow");
        Run("ARSEEK a 18446744073709551615").Shows("1");
        Run("ARNEXT a").Shows("nil");
        Run("ARRING a 2 v").Shows("0"); // the last two positions have become 0 and 1
        Run("ARGETRANGE a 0 1").Shows("[v last]");
    }

    [Fact]
    public void Highest_indexes_are_big_numbers_of_resp3()
    {
        using RedKiteSession client = Server.CreateSession();
        client.Execute("HELLO", "3");
        client.Execute("ARSET", "a", "18446744073709551613", "x");
        Assert.Equal("18446744073709551614", client.Execute("ARLEN", "a").Text);
    }

    // redis.io/commands/arring, arlastitems
    [Fact]
    public void Newest_elements_of_a_ring_replace_the_oldest()
    {
        Run("ARRING readings 3 v0").Shows("0");
        Run("ARRING readings 3 v1").Shows("1");
        Run("ARRING readings 3 v2").Shows("2");
        Run("ARRING readings 3 v3").Shows("0");
        Run("ARGET readings 0").Shows("v3");
        Run("ARCOUNT readings").Shows("3");
        Run("ARLASTITEMS readings 3").Shows("[v1 v2 v3]");
        Run("ARLASTITEMS readings 3 REV").Shows("[v3 v2 v1]");
        Run("ARLASTITEMS readings 2").Shows("[v2 v3]");
        Run("ARLASTITEMS readings 100").Shows("[v1 v2 v3]");
        Run("ARLASTITEMS readings 0").Shows("[]");
        Run("ARLASTITEMS missing 3").Shows("[]");
        Run("ARRING readings 3 a b c d e f g").Shows("1");
        Run("ARLASTITEMS readings 3").Shows("[e f g]");
    }

    // upstash.com/docs/redis/commands/array/arring: the most recent elements that fit are put from index 0 on.
    [Fact]
    public void Ring_of_another_size_keeps_the_newest_elements_in_their_order()
    {
        Run("ARRING r 4 a b c d e f").Shows("1");
        Run("ARGETRANGE r 0 3").Shows("[e f c d]");
        Run("ARRING r 6 g").Shows("4");
        Run("ARGETRANGE r 0 5").Shows("[c d e f g nil]");
        Run("ARRING r 3 h").Shows("0");
        Run("ARGETRANGE r 0 4").Shows("[h f g nil nil]");
        Run("ARLASTITEMS r 3").Shows("[f g h]");
        Run("ARRING r 1 i").Shows("0");
        Run("ARSCAN r 0 100").Shows("[[0 i]]");
    }

    // What clients of Redis 8.8 test: a smaller ring keeps the newest elements as far as there is no gap between them.
    [Fact]
    public void Smaller_ring_ends_at_the_first_gap()
    {
        Run("ARRING r 5 v0 v1 v2 v3 v4").Shows("4");
        Run("ARDEL r 3");
        Run("ARRING r 3 new").Shows("1");
        Run("ARCOUNT r").Shows("2");
        Run("ARGETRANGE r 0 2").Shows("[v4 new nil]");
        Run("ARRING s 10 v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v12 v13 v14").Shows("4");
        Run("ARRING s 5 truncated").Shows("0");
        Run("ARGETRANGE s 0 5").Shows("[truncated v11 v12 v13 v14 nil]");
        Run("ARINSERT t a b c");
        Run("ARSEEK t 10");
        Run("ARRING t 5 x").Shows("0");
        Run("ARGETRANGE t 0 3").Shows("[x b c nil]");
        Run("ARSET u 0 a b c d e");
        Run("ARDEL u 1");
        Run("ARRING u 4 x").Shows("3"); // nothing was inserted before: the end counts as the last
        Run("ARGETRANGE u 0 4").Shows("[c d e x nil]");
    }

    // upstash.com/docs/redis/commands/array/arlastitems: empty slots come back as null, and no more than the number of elements.
    [Fact]
    public void Last_items_are_positions()
    {
        Run("ARINSERT log first second");
        Run("ARSEEK log 10");
        Run("ARINSERT log third").Shows("10");
        Run("ARLASTITEMS log 2").Shows("[nil third]");
        Run("ARLASTITEMS log 5 REV").Shows("[third nil nil]");
    }

    // redis.io/commands/arop
    [Fact]
    public void Aggregates_are_of_numbers()
    {
        Run("ARMSET scores 0 10 1 20 2 30");
        Run("AROP scores 0 2 SUM").Shows("60");
        Run("AROP scores 0 2 MIN").Shows("10");
        Run("AROP scores 2 0 MAX").Shows("30");
        Run("AROP scores 0 2 MATCH 10").Shows("1");
        Run("AROP scores 0 2 USED").Shows("3");
        Run("ARMSET flags 0 255 1 15 2 240");
        Run("AROP flags 0 2 AND").Shows("0");
        Run("AROP flags 0 2 OR").Shows("255");
        Run("AROP flags 0 2 XOR").Shows("0");
        Run("ARMSET mixed 0 7.9 1 3.2 2 1.8 3 word 9 -4");
        Run("AROP mixed 0 2 AND").Shows("1");
        Run("AROP mixed 0 3 OR").Shows("7");
        Run("AROP mixed 0 3 XOR").Shows("5");
        Run("AROP mixed 0 9 SUM").Shows("8.9");
        Run("AROP mixed 0 9 MIN").Shows("-4");
        Run("AROP mixed 0 9 MAX").Shows("7.9");
        Run("AROP mixed 3 8 SUM").Shows("nil");
        Run("AROP mixed 3 8 AND").Shows("nil");
        Run("AROP mixed 3 8 USED").Shows("1");
        Run("AROP mixed 4 8 USED").Shows("0");
        Run("AROP mixed 0 18446744073709551614 MATCH word").Shows("1");
        Run("AROP missing 0 5 SUM").Shows("nil");
        Run("AROP missing 0 5 MATCH a").Shows("0");
    }

    // Sums of integers are exact, whatever they are.
    [Fact]
    public void Integers_are_added_and_compared_exactly()
    {
        Run("ARSET a 0 9223372036854775807 9223372036854775807 -1");
        Run("AROP a 0 2 SUM").Shows("18446744073709551613");
        Run("ARSET a 0 9223372036854775806 9223372036854775807 1e300");
        Run("AROP a 0 1 MIN").Shows("9223372036854775806");
        Run("AROP a 0 1 MAX").Shows("9223372036854775807");
        Assert.Equal(301, Run("AROP a 0 2 MAX").Text!.Length);
        Run("ARSET a 0 0.1 0.2 inf nan");
        Run("AROP a 0 3 SUM").Shows("0.3");
        Run("AROP a 0 3 MAX").Shows("0.2");
        Run("ARSET a 0 7 1e300");
        Run("AROP a 0 1 AND").Shows("7"); // 1e300 is no integer of 64 bits
    }

    // redis.io/commands/arinfo, but for what slices are
    [Fact]
    public void Info_has_the_documented_fields()
    {
        Run("ARMSET myarray 0 a 1 b 100 c").Shows("3");
        Run("ARINSERT myarray d").Shows("0");
        Run("ARINFO myarray").Shows("[count 3 len 101 next-insert-index 1 slices 1 directory-size 1 super-dir-entries 0 slice-size 256]");
        Run("ARINFO myarray FULL").Shows("[count 3 len 101 next-insert-index 1 slices 1 directory-size 1 super-dir-entries 0 slice-size 256"
            + " dense-slices 0 sparse-slices 1 avg-dense-size 0 avg-dense-fill 0 avg-sparse-size 3]");
        Run("ARSEEK myarray 18446744073709551615");
        Assert.Equal("0", Run("ARINFO myarray").Items[5].Text);
        Run("ARINFO missing").Shows("ERR no such key");
        Run("ARINFO myarray SOME").Shows("ERR syntax error");
    }

    [Theory]
    [InlineData("ARSET a -1 x")]
    [InlineData("ARSET a 01 x")]
    [InlineData("ARSET a +1 x")]
    [InlineData("ARSET a 1.5 x")]
    [InlineData("ARSET a '' x")]
    [InlineData("ARSET a 18446744073709551615 x")]
    [InlineData("ARSET a 99999999999999999999 x")]
    [InlineData("ARMSET a 0 x word y")]
    [InlineData("ARGET a word")]
    [InlineData("ARMGET a 0 word")]
    [InlineData("ARDEL a 0 word")]
    [InlineData("ARDELRANGE a 0 5 6 word")]
    [InlineData("ARGETRANGE a - 5")]
    [InlineData("ARSCAN a 0 +")]
    [InlineData("AROP a 0 -1 SUM")]
    [InlineData("ARSEEK a word")]
    [InlineData("ARGREP a ( + EXACT x")]
    public void Indexes_are_numbers_without_a_sign(string line)
    {
        Run("ARSET a 0 kept");
        Run(line).Shows("ERR invalid array index");
        Run("ARSCAN a 0 10").Shows("[[0 kept]]");
    }

    [Theory]
    [InlineData("ARMSET a 0 x 1", "ERR wrong number of arguments for 'armset' command")]
    [InlineData("ARDELRANGE a 0 1 2", "ERR wrong number of arguments for 'ardelrange' command")]
    [InlineData("ARSCAN a 0 1 LIMIT 0", "ERR LIMIT must be a positive integer")]
    [InlineData("ARSCAN a 0 1 LIMIT", "ERR syntax error")]
    [InlineData("ARSCAN a 0 1 COUNT 5", "ERR syntax error")]
    [InlineData("AROP a 0 1 AVG", "ERR syntax error")]
    [InlineData("AROP a 0 1 SUM 5", "ERR syntax error")]
    [InlineData("AROP a 0 1 MATCH", "ERR syntax error")]
    [InlineData("ARRING a 0 x", "ERR invalid ring size")]
    [InlineData("ARRING a -1 x", "ERR invalid ring size")]
    [InlineData("ARLASTITEMS a -1", "ERR value is out of range, must be positive")]
    [InlineData("ARLASTITEMS a 1 FWD", "ERR syntax error")]
    public void Mistakes_are_errors(string line, string error) => Run(line).Shows(error);

    [Theory]
    [InlineData("ARSET s 0 x")]
    [InlineData("ARMSET s 0 x")]
    [InlineData("ARGET s 0")]
    [InlineData("ARMGET s 0")]
    [InlineData("ARDEL s 0")]
    [InlineData("ARDELRANGE s 0 1")]
    [InlineData("ARCOUNT s")]
    [InlineData("ARLEN s")]
    [InlineData("ARINFO s")]
    [InlineData("ARINSERT s x")]
    [InlineData("ARRING s 5 x")]
    [InlineData("ARSEEK s 0")]
    [InlineData("ARNEXT s")]
    [InlineData("ARLASTITEMS s 1")]
    [InlineData("ARGETRANGE s 0 1")]
    [InlineData("ARSCAN s 0 1")]
    [InlineData("AROP s 0 1 USED")]
    [InlineData("ARGREP s - + EXACT x")]
    public void Other_types_are_refused(string line)
    {
        Run("SET s text");
        Run(line).Shows("WRONGTYPE Operation against a key holding the wrong kind of value");
        Run("DEL s");
        Run("ARSET s 0 x");
        Run("GET s").Shows("WRONGTYPE Operation against a key holding the wrong kind of value");
    }
}
